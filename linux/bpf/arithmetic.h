/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's arithmetic as BPF can do it: without numbers of 128 bits, division of signed
 * numbers, and an instruction for the lowest bit. Tests replay vectors with it, too.
 */
#ifndef PLAIT_BPF_ARITHMETIC_H
#define PLAIT_BPF_ARITHMETIC_H

static inline bool plait_mul_overflows(u64 a, u64 b, u64 most)
{
	u64 limit = a ? most / a : U64_MAX;

	/* clang would see a product of 128 bits in the comparison. */
	asm("" : "+r"(limit));
	return b > limit;
}

/* The number of the lowest bit that is set in a set of paths; there is one. */
static inline unsigned long __ffs(unsigned long word)
{
	unsigned long number = 0;

	while (!(word >> number & 1) && number < 31)
		number++;
	return number;
}

#define check_mul_overflow(a, b, product) ({						\
	typeof(*(product)) mul_a = (a), mul_b = (b);					\
	bool mul_signed = (typeof(*(product)))-1 < 1;					\
	bool mul_below_a = mul_signed && (s64)mul_a < 0;				\
	bool mul_below_b = mul_signed && (s64)mul_b < 0;				\
	u64 mul_size_a = mul_below_a ? -(u64)mul_a : (u64)mul_a;			\
	u64 mul_size_b = mul_below_b ? -(u64)mul_b : (u64)mul_b;			\
	u64 mul_most = mul_signed ? (u64)S64_MAX + (mul_below_a != mul_below_b) : U64_MAX;	\
											\
	*(product) = (u64)mul_a * (u64)mul_b;						\
	plait_mul_overflows(mul_size_a, mul_size_b, mul_most);				\
})

/* The product of the rest and the factor has 64 bits. */
static inline u64 mul_u64_u32_div(u64 a, u32 factor, u32 divisor)
{
	return a / divisor * factor + a % divisor * factor / divisor;
}

#endif
