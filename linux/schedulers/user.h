/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the kernel that the schedulers use, for tests in user space and for BPF (linux/bpf). */
#ifndef PLAIT_USER_H
#define PLAIT_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>
#ifndef __bpf__
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#endif

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX
#define S64_MAX		INT64_MAX
#define S64_MIN		INT64_MIN

#define BIT(n)			(1UL << (n))
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define sizeof_field(type, field)	sizeof(((type *)0)->field)
#define READ_ONCE(x)			(x)	/* there is one thread */
#define WRITE_ONCE(x, value)		((x) = (value))
#define scnprintf		snprintf

#define min(a, b) ({			\
	typeof(a) min_a = (a);		\
	typeof(b) min_b = (b);		\
	min_a < min_b ? min_a : min_b;	\
})
#define max(a, b) ({			\
	typeof(a) max_a = (a);		\
	typeof(b) max_b = (b);		\
	max_a > max_b ? max_a : max_b;	\
})
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define clamp_t(type, value, low, high)	min_t(type, max_t(type, value, low), high)
#define max_t(type, a, b)	max((type)(a), (type)(b))

#define check_add_overflow(a, b, sum)		__builtin_add_overflow(a, b, sum)
#ifdef PLAIT_BPF
#include "arithmetic.h"
#else
#define check_mul_overflow(a, b, product)	__builtin_mul_overflow(a, b, product)

/* The number of the lowest bit that is set; there is one. */
static inline unsigned long __ffs(unsigned long word)
{
	return __builtin_ctzl(word);
}

static inline u64 mul_u64_u32_div(u64 a, u32 factor, u32 divisor)
{
	return (unsigned __int128)a * factor / divisor;
}
#endif

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

static inline u64 div_u64_rem(u64 dividend, u32 divisor, u32 *remainder)
{
	*remainder = dividend % divisor;
	return dividend / divisor;
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

#ifndef __bpf__
static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 divisor)
{
	return (__uint128_t)a * b / divisor;
}

static inline int kstrtouint(const char *text, unsigned int base, unsigned int *value)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, base);
	if (end == text || *end || *text == '-')
		return -EINVAL;
	if (errno || number > UINT32_MAX)
		return -ERANGE;
	*value = number;
	return 0;
}

static inline int kstrtobool(const char *text, bool *value)
{
	if (!*text || !strchr("yYtT1nNfF0", *text))
		return -EINVAL;
	*value = strchr("yYtT1", *text);
	return 0;
}

static inline int __sysfs_match_string(const char *const *words, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(words[i], text))
			return i;
	return -EINVAL;
}

#else
#define static_assert			_Static_assert
#endif

/* Tests set parameters through plait_parameter_set(). In BPF they keep their defaults. */
#define module_param_cb(...)		static_assert(true, "")
#define MODULE_PARM_DESC(...)		static_assert(true, "")

#endif
