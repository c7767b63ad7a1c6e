/* SPDX-License-Identifier: GPL-2.0-only */
/* Parameters of schedulers and options: module parameters that refuse the same values as
 * plait-sched.
 */
#ifndef PLAIT_PARAMETERS_H
#define PLAIT_PARAMETERS_H

#include "plait.h"

struct plait_parameter {
	const char *name;
	unsigned int value;		/* of a choice: index into words */
	unsigned int min;
	unsigned int max;		/* 1 with a min of 0: a boolean */
	const char *const *words;	/* of a choice, otherwise NULL */
};

/* A connection uses the parameters that are set when it begins. */
static inline unsigned int plait_value(const struct plait_parameter *parameter)
{
	return READ_ONCE(parameter->value);
}

/* Returns 0, or a negative error for a value out of range. */
int plait_parameter_set(struct plait_parameter *parameter, const char *text);

extern const struct kernel_param_ops plait_parameter_ops;

#define PLAIT_MODULE_PARAMETER(_name, _doc)					\
	module_param_cb(_name, &plait_parameter_ops, &_name, 0644);		\
	MODULE_PARM_DESC(_name, _doc)

#define PLAIT_INTEGER(_name, _value, _min, _max, _doc)				\
	static struct plait_parameter _name = {					\
		.name = #_name, .value = _value, .min = _min, .max = _max	\
	};									\
	PLAIT_MODULE_PARAMETER(_name, _doc)

#define PLAIT_BOOLEAN(_name, _value, _doc)					\
	PLAIT_INTEGER(_name, _value, 0, 1, _doc)

/* The first of the words is the default. */
#define PLAIT_CHOICE(_name, _doc, ...)						\
	static const char *const _name##_words[] = { __VA_ARGS__ };		\
	static struct plait_parameter _name = {					\
		.name = #_name,							\
		.max = ARRAY_SIZE(_name##_words) - 1,				\
		.words = _name##_words						\
	};									\
	PLAIT_MODULE_PARAMETER(_name, _doc)

#endif
