// SPDX-License-Identifier: GPL-2.0
/* rate_meter.h against exact rates: one departure every so often has one rate. */
#include "../../frame/rate_meter.h"
#include "unit.h"

#define US	1000ULL
#define MS	1000000ULL

static struct rate_meter m;
static u64 now, total;
static u32 wait, looks;
static bool emptied;

static void start(void)
{
	m = (struct rate_meter) {};
	now = 5 * MS;
	total = 12345;
	wait = 0;
	looks = 0;
	emptied = false;
}

/* A packet leaves. As the qdiscs do: look after the spacing. */
static void leave(u32 bytes)
{
	total += bytes;
	if (wait--)
		return;
	looks++;
	rate_meter_look(&m, total, now, emptied);
	emptied = false;
	wait = m.spacing - 1;
}

/* The last packet leaves, and nothing for @pause ns. */
static void leave_last(u32 bytes, u64 pause)
{
	emptied = true;
	leave(bytes);
	emptied = true;
	now += pause;
}

/* Packets of @bytes leave every @gap ns, for @time ns. The queue stays busy. */
static void busy(u32 bytes, u64 gap, u64 time)
{
	u64 end = now + time;

	for (; now < end; now += gap)
		leave(bytes);
}

/* @part: of a million */
static bool near(u64 value, u64 want, u64 part)
{
	u64 slack = div_u64(want * part, 1000000) + 1;

	return value <= want + slack && value + slack >= want;
}

static void test_median(void)
{
	bool pass = true;

	for (u64 a = 0; a < 4; a++)
		for (u64 b = 0; b < 4; b++)
			for (u64 c = 0; c < 4; c++) {
				u64 got = rate_meter_median(a, b, c);
				int below = (a < got) + (b < got) + (c < got);
				int above = (a > got) + (b > got) + (c > got);

				pass &= (got == a || got == b || got == c) &&
					below < 2 && above < 2;
			}
	unit_ok(pass, "of three numbers, at most one is below the median and one above");
}

/* From 64 kb/s to 100 Gb/s with full packets: the same rate, in time. */
static void test_rates(void)
{
	static const u64 rates[] = { 8000, 125000, 2500000, 125000000, 1250000000,
				     12500000000ULL };
	bool exact = true, soon = true, rare = true;

	for (int i = 0; i < 6; i++) {
		u64 gap = div64_u64(1514 * 1000000000ULL, rates[i]);
		u64 first = 0;
		u32 n;

		start();
		for (n = 0; n < 2000 || now < 45 * MS; n++, now += gap) {
			leave(1514);
			if (m.rate && !first)
				first = now - 5 * MS;
		}
		exact &= near(m.rate, rates[i], 20000);
		/* 8 packets, or 10 ms with the looks' grain, whichever is more */
		soon &= first <= max(16 * gap, 13 * MS);
		rare &= looks < n / 60 + 10 || looks < (now - 5 * MS) / (200 * US);
	}
	unit_ok(exact, "the rate is right to 2 %%, from 64 kb/s to 100 Gb/s");
	unit_ok(soon, "after 16 packets or 13 ms, whichever is more");
	unit_ok(rare, "a fast link looks at the clock every 64 packets or 0.2 ms");
}

static void test_changes(void)
{
	start();
	busy(1514, 605600, 200 * MS);	/* 20 Mb/s */
	unit_ok(near(m.rate, 2500000, 20000), "20 Mb/s");
	busy(1514, 60560, 60 * MS);
	unit_ok(near(m.rate, 25000000, 20000), "ten times as fast is known after 60 ms");
	busy(1514, 605600, 100 * MS);
	unit_ok(near(m.rate, 2500000, 20000), "a tenth again, after 100 ms");

	emptied = true;
	now += 3000 * MS;
	busy(1514, 605600, 100 * MS);
	unit_ok(near(m.rate, 2500000, 20000), "a pause without packets does not change it");
	now += 3000 * MS;
	busy(1514, 605600, 9 * MS);
	unit_ok(near(m.rate, 2500000, 20000), "nor does a link that stops once for 3 s");
}

static void test_burst(void)
{
	start();
	busy(1514, 605600, 100 * MS);
	/* a token bucket with 1 MB: 660 packets at once, while others wait */
	for (int n = 0; n < 660; n++)
		leave(1514);
	busy(1514, 605600, 200 * MS);
	unit_ok(near(m.rate, 2500000, 20000), "a burst at once does not change the rate");
}

static void test_short_queues(void)
{
	start();
	/* Pairs of packets: the queue is empty after each pair. */
	for (int n = 0; n < 1000; n++) {
		leave(1514);
		now += 10 * US;
		leave(1514);
		emptied = true;
		now += 5 * MS;
	}
	unit_ok(!m.rate, "a queue that is empty again and again says nothing");
}

/* The queue stays busy. It is served at the rate of @gap for @on, then at @rest, in ns. */
static void in_turns(u64 gap, u64 on, u64 rest, u64 off, u64 time)
{
	u64 end = now + time;

	while (now < end) {
		busy(1514, gap, on);
		if (rest)
			busy(1514, rest, off);
		else
			now += off;
	}
}

/* A limit follows the mean rate if that is right to a half. */
static void test_served_in_bursts(void)
{
	static const struct {
		u64 gap, on, rest, off, mean;
		const char *name;
	} links[] = {
		{ 302800, 50 * MS, 0, 50 * MS, 2500000, "50 of 100 ms" },
		{ 302800, 20 * MS, 0, 20 * MS, 2500000, "20 of 40 ms" },
		{ 302800, 200 * MS, 0, 200 * MS, 2500000, "200 of 400 ms" },
		{ 121120, 60 * MS, 0, 240 * MS, 2500000, "60 of 300 ms" },
		{ 14771, 5 * MS, 0, 200 * MS, 2500000, "5 of 205 ms" },
		{ 121120, 2 * MS, 0, 8 * MS, 2500000, "2 of 10 ms" },
		{ 302800, 50 * MS, 3028000, 50 * MS, 2750000,
		  "50 of 100 ms, and slowly between them" },
	};

	for (int i = 0; i < 7; i++) {
		u64 least = U64_MAX, most = 0;

		start();
		in_turns(links[i].gap, links[i].on, links[i].rest, links[i].off,
			 3000 * MS);
		for (int n = 0; n < 50; n++) {
			in_turns(links[i].gap, links[i].on, links[i].rest,
				 links[i].off, 20 * MS);
			least = min(least, m.rate);
			most = max(most, m.rate);
		}
		unit_ok(least > links[i].mean / 2 && most < links[i].mean * 3 / 2,
			"served for %s: %llu to %llu bytes/s", links[i].name, least,
			most);
		busy(1514, 605600, 4000 * MS);
		busy(1514, 60560, 80 * MS);
		unit_ok(near(m.rate, 25000000, 20000),
			"then steady, and a change is known after 80 ms");
	}
}

/* Too low a rate: the queue is so short that it runs empty in each burst. */
static void test_short_bursts(void)
{
	u64 raised;

	start();
	busy(1514, 12112000, 200 * MS);	/* 1 Mb/s */
	for (int n = 0; n < 24; n++) {
		busy(1514, 302800, 2 * MS);	/* 40 Mb/s */
		leave_last(1514, 200 * MS);
	}
	raised = m.rate;
	unit_ok(raised > 5000000 * 2 / 3 && raised <= 5000000,
		"short bursts raise a rate that is too low");
	for (int n = 0; n < 16; n++) {
		busy(1514, 3028000, 20 * MS);
		leave_last(1514, 200 * MS);
	}
	unit_ok(m.rate == raised, "slower ones do not lower it");
	start();
	busy(1514, 605600, 200 * MS);
	for (int n = 0; n < 100; n++) {
		leave(1514);
		leave(1514);	/* early */
		now += 605600;
		leave(1514);
		now += 605600;
		leave_last(1514, 100 * MS);
	}
	unit_ok(near(m.rate, 2500000, 20000), "a packet that leaves early does not raise it");
}

static void test_corners(void)
{
	start();
	busy(U32_MAX, 2, 11 * MS);
	unit_ok(m.rate == 1ULL << 40, "the largest rate is that of the option");
	start();
	busy(0, MS, 60 * MS);
	unit_ok(m.rate == 1, "packets without bytes give the least rate");
	start();
	busy(64, 40 * MS, 2000 * MS);
	unit_ok(near(m.rate, 1600, 1000), "small packets on a slow link");
}

UNIT_TESTS
{
	test_median();
	test_rates();
	test_changes();
	test_burst();
	test_short_queues();
	test_served_in_bursts();
	test_short_bursts();
	test_corners();
}
