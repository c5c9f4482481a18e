/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rate of the link, from which qdiscs compute their defaults. In this order:
 *
 *  given	by the option bandwidth; it always wins
 *  measured	by the departures of a busy queue, see <aqm/rate_meter.h>
 *  device	the speed that a device with hardware reports, as cbs and taprio
 *		use it. We read it again when the device comes up or its link
 *		changes. If it then reports none, the last one stays.
 *  assumed	LINK_RATE_DEFAULT, until the queue was busy for a moment
 *
 * A device without hardware (veth, tun, bridge) reports a number that says nothing
 * about the link, so we do not ask it. It would also have to ask the device below.
 *
 * A new rate may not fit the given options. Then the old rate stays in force,
 * and the new one is stored as refused, for the statistics and for the next
 * change of options.
 *
 * frame/link_rate.c follows the rate.
 */
#ifndef _AQM_LINK_RATE_H
#define _AQM_LINK_RATE_H

#include <linux/workqueue.h>
#include <net/sch_generic.h>
#include "rate_meter.h"

#define LINK_RATE_DEFAULT	125000000ULL	/* bytes/s: 1 Gb/s */
#define LINK_RATE_PAUSE		100000000U	/* ns between two changes, at least */

/**
 * struct link_rate - the link's rate; under RTNL, the meter under the qdisc lock
 * @rate: rate in force unless one was given, bytes/s; 0: LINK_RATE_DEFAULT
 * @refused: a rate that the options do not fit, bytes/s; otherwise 0
 * @speed: the device's speed when we last asked, bytes/s; 0: none
 * @measured: @rate was measured
 * @follow: use the measured rate
 * @meter: measures the rate
 * @next: when the measured rate may change @rate again, ns
 * @work: changes it
 * @sch: the qdisc
 */
struct link_rate {
	u64			rate;
	u64			refused;
	u64			speed;
	bool			measured;
	bool			follow;
	struct rate_meter	meter;
	u64			next;
	struct delayed_work	work;
	struct Qdisc		*sch;
};

#endif /* _AQM_LINK_RATE_H */
