// SPDX-License-Identifier: GPL-2.0-only
/* Reading and writing parameters. */
#ifdef __KERNEL__
#include <linux/sysfs.h>
#endif

#include "parameters.h"

static bool is_boolean(const struct plait_parameter *parameter)
{
	return !parameter->words && parameter->max == 1;
}

int plait_parameter_set(struct plait_parameter *parameter, const char *text)
{
	unsigned int value;
	bool on;
	int error;

	if (parameter->words) {
		error = __sysfs_match_string(parameter->words, parameter->max + 1, text);
		if (error < 0)
			return error;
		value = error;
	} else if (is_boolean(parameter)) {
		error = kstrtobool(text, &on);
		if (error)
			return error;
		value = on;
	} else {
		error = kstrtouint(text, 10, &value);
		if (error)
			return error;
		if (value < parameter->min || value > parameter->max)
			return -ERANGE;
	}
	WRITE_ONCE(parameter->value, value);
	return 0;
}

#ifdef __KERNEL__
#include <asm/page.h>

static int set(const char *text, const struct kernel_param *kp)
{
	return plait_parameter_set(kp->arg, text);
}

static int get(char *buffer, const struct kernel_param *kp)
{
	const struct plait_parameter *parameter = kp->arg;
	unsigned int value = plait_value(parameter);

	if (parameter->words)
		return sysfs_emit(buffer, "%s\n", parameter->words[value]);
	if (is_boolean(parameter))
		return sysfs_emit(buffer, "%c\n", value ? 'Y' : 'N');
	return sysfs_emit(buffer, "%u\n", value);
}

const struct kernel_param_ops plait_parameter_ops = { .set = set, .get = get };
#endif
