// SPDX-License-Identifier: GPL-2.0-only
/* All schedulers, in the order in which they are listed to users. */
#include "plait.h"

const struct plait_algorithm *const plait_algorithms[] = {
	&plait_round_robin,
	&plait_lowest_rtt,
	&plait_daps,
	&plait_daps_rounds,
	&plait_delivery_delay,
	&plait_intelligent_delivery_delay,
	&plait_dqs,
	&plait_redundant,
	&plait_blest,
	&plait_ecf,
	&plait_otias,
	&plait_sttf,
	&plait_cheapest_first,
	&plait_weighted,
	&plait_earliest_arrival,
	NULL
};
