// SPDX-License-Identifier: GPL-2.0
/* two_region: the thesis's tables, and the arithmetic behind them. */
#include <math.h>
#include <linux/kernel.h>
#include <aqm/2regionred/two_region.h>

#include "unit.h"

#define GBIT	125000000ULL	/* bytes/s */
#define TWO_30	1073741824.L
#define TWO_32	4294967296.L

static double real(u64 x)
{
	return x / 4294967296.;
}

/* Tables 8.1 to 8.3 as printed, TPUT (bandwidth / N) left out. */
static const struct table {
	const char *name;
	u64 bandwidth;	/* bytes/s */
	struct row {
		u32 n;
		const char *ppd, *dpp, *rpd, *dpr, *w;
	} rows[13];
} tables[] = {
	{ "8.1, 155 Mb/s", 155 * GBIT / 1000, {
		{ 1, "2.5e+06", "3.99e-07", "1.29e+03", "0.000774", "1.29e+03" },
		{ 10, "1.2e+04", "8.31e-05", "9.01", "0.111", "89.1" },
		{ 20, "2.94e+03", "0.00034", "2.24", "0.447", "43.8" },
		{ 30, "1.31e+03", "0.000765", "1", "0.999", "29" },
		{ 75, "217", "0.00461", "0.167", "5.98", "11.5" },
		{ 100, "125", "0.008", "0.0964", "10.4", "8.64" },
		{ 200, "34.4", "0.0291", "0.0266", "37.6", "4.31" },
		{ 300, "16.7", "0.0599", "0.0129", "77.4", "2.87" },
		{ 400, "10.2", "0.0981", "0.00789", "127", "2.15" },
		{ 500, "7.04", "0.142", "0.00545", "184", "1.72" },
		{ 1000, "2.41", "0.416", "0.00186", "537", "0.861" },
	} },
	{ "8.2, 622 Mb/s", 622 * GBIT / 1000, {
		{ 1, "4.03e+07", "2.48e-08", "5.18e+03", "0.000193", "5.18e+03" },
		{ 10, "1.92e+05", "5.2e-06", "35.8", "0.0279", "357" },
		{ 20, "4.66e+04", "2.15e-05", "8.84", "0.113", "176" },
		{ 40, "1.15e+04", "8.68e-05", "2.2", "0.454", "87.1" },
		{ 60, "5.12e+03", "0.000195", "0.982", "1.02", "57.9" },
		{ 75, "3.28e+03", "0.000305", "0.63", "1.59", "46.3" },
		{ 100, "1.86e+03", "0.000539", "0.357", "2.8", "34.7" },
		{ 200, "475", "0.0021", "0.0915", "10.9", "17.3" },
		{ 300, "217", "0.00461", "0.0418", "23.9", "11.5" },
		{ 400, "125", "0.00799", "0.0241", "41.5", "8.65" },
		{ 500, "82.1", "0.0122", "0.0158", "63.2", "6.92" },
		{ 1000, "23.1", "0.0433", "0.00446", "224", "3.46" },
	} },
	{ "8.3, 1 Gb/s", GBIT, {
		{ 1, "1.04e+08", "9.6e-09", "8.33e+03", "0.00012", "8.33e+03" },
		{ 2, "1.67e+07", "6e-08", "1.67e+03", "0.0006", "3.33e+03" },
		{ 5, "2.13e+06", "4.7e-07", "238", "0.0042", "1.19e+03" },
		{ 10, "4.96e+05", "2.01e-06", "57.6", "0.0174", "575" },
		{ 40, "2.96e+04", "3.37e-05", "3.53", "0.284", "140" },
		{ 75, "8.42e+03", "0.000119", "1.01", "0.995", "74.4" },
		{ 100, "4.74e+03", "0.000211", "0.567", "1.76", "55.7" },
		{ 200, "1.2e+03", "0.000831", "0.144", "6.94", "27.8" },
		{ 500, "202", "0.00495", "0.0242", "41.3", "11.1" },
		{ 1000, "54.7", "0.0183", "0.00656", "152", "5.56" },
		{ 1500, "26.1", "0.0383", "0.00314", "319", "3.7" },
		{ 2000, "15.7", "0.0635", "0.00189", "529", "2.78" },
	} },
};

/* Does @x, to three digits, read as @printed? */
static bool reads(double x, const char *printed, const char *what, u32 n)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3g", x);
	if (!strcmp(text, printed))
		return true;
	printf("# N %u: %s is %s (%.6g), the thesis has %s\n", n, what, text, x, printed);
	return false;
}

static void tables_of_chapter_8(void)
{
	u32 t, i;

	for (t = 0; t < ARRAY_SIZE(tables); t++) {
		u64 pipe = two_region_pipe(tables[t].bandwidth, 100000, 1500);
		u32 wrong = 0;

		for (i = 0; tables[t].rows[i].n; i++) {
			const struct row *r = &tables[t].rows[i];
			u64 w = two_region_window(pipe, r->n);
			u64 rpd = two_region_rtts_per_drop(pipe, w);
			double ppd = real(rpd) * (real(pipe) + real(w) / 2);

			wrong += !reads(real(w), r->w, "W", r->n);
			wrong += !reads(ppd, r->ppd, "PPD", r->n);
			wrong += !reads(1 / ppd, r->dpp, "DPP", r->n);
			wrong += !reads(real(rpd), r->rpd, "RPD", r->n);
			wrong += !reads(1 / real(rpd), r->dpr, "DPR", r->n);
		}
		unit_ok(!wrong, "table %s: %u rows to three digits", tables[t].name, i);
	}
}

static void table_6_1(void)
{
	static const struct {
		u64 bandwidth;
		u32 bmin, n_1dpr, bflat, dbp;
	} rows[] = {
		{ 155 * GBIT / 1000, 89, 29, 134, 1292 },
		{ 622 * GBIT / 1000, 357, 58, 446, 5183 },
		{ GBIT, 575, 74, 687, 8333 },
	};
	u32 i;

	for (i = 0; i < 3; i++) {
		u64 pipe = two_region_pipe(rows[i].bandwidth, 100000, 1500);
		u64 n_1dpr = two_region_n_1dpr(pipe);
		u32 bmin = two_region_bmin(pipe, 10);
		u32 bflat = two_region_bflat(bmin, n_1dpr);

		unit_ok(bmin == rows[i].bmin && n_1dpr >> 32 == rows[i].n_1dpr &&
			bflat == rows[i].bflat && lround(real(pipe)) == rows[i].dbp,
			"table 6.1: Bmin %u, N_1DPR %.2f, Bflat %u, DBP %.1f", bmin,
			real(n_1dpr), bflat, real(pipe));
	}
	/* No flow, however slow, is held below one packet. */
	unit_ok(two_region_bmin((u64)TWO_REGION_MIN_PIPE << 32, 65535) == 1,
		"Bmin is at least 1");
}

/* Table 4.2 to one decimal, as printed. */
static void table_4_2(void)
{
	static const struct {
		u64 mbit;
		double n_1dpr;
	} rows[] = {
		{ 100000, 745.4 }, { 10000, 235.7 }, { 1000, 74.5 },
		{ 155, 29.3 }, { 60, 18.3 }, { 10, 7.5 },
	};
	bool same = true;
	u32 i;

	for (i = 0; i < 6; i++) {
		u64 pipe = two_region_pipe(rows[i].mbit * GBIT / 1000, 100000, 1500);

		same &= fabs(real(two_region_n_1dpr(pipe)) - rows[i].n_1dpr) < 0.0501;
	}
	unit_ok(same, "table 4.2: N_1DPR from 10 Mb/s to 100 Gb/s");
}

/* Any magnitude up to 2^@bits. */
static u64 any(u32 bits)
{
	return unit_random() >> (64 - bits) >> unit_below(bits - 1) | 1;
}

static void arithmetic_keeps_its_bounds(void)
{
	bool ratio = true, mul = true, root = true;
	int i;

	for (i = 0; i < 1000000; i++) {
		long double exact;
		u64 a = any(63);
		u64 b = any(63);

		exact = (long double)a / b;
		if (exact < TWO_30)
			ratio &= fabsl(two_region_ratio(a, b) / TWO_32 - exact) <=
				 exact / TWO_30 + 1 / TWO_32;
		exact = (long double)a * b / TWO_32 / TWO_32;
		mul &= two_region_mul(a, b) <= TWO_REGION_ONE << 30;
		if (exact >= TWO_30)
			mul &= two_region_mul(a, b) >= TWO_REGION_ONE << 29;
		else if (exact < TWO_30 / 2 || two_region_mul(a, b) != TWO_REGION_ONE << 30)
			mul &= fabsl(two_region_mul(a, b) / TWO_32 - exact) <= 1 / TWO_32;
		a = TWO_REGION_ONE + any(59);
		exact = sqrtl(a / TWO_32);
		root &= fabsl(two_region_sqrt(a) / TWO_32 - exact) <= exact / TWO_32 * 2;
	}
	unit_ok(ratio, "a quotient is within 2^-30, relatively, plus 2^-32");
	unit_ok(mul, "a product is cut below 2^-32, and saturates from 2^29 on");
	unit_ok(root, "a root is within 2^-31, relatively");
	unit_ok(!two_region_ratio(0, 5), "0 / 5 is 0");
	/* Quotients and roots can be off by 2^-30 and 2^-31. */
	unit_ok(two_region_floor(7 * TWO_REGION_ONE) == 7 &&
		two_region_floor(7 * TWO_REGION_ONE - 28) == 7 &&
		two_region_floor(7 * TWO_REGION_ONE - TWO_REGION_ONE / 1000) == 6,
		"what is just below a whole number counts as that number");
	unit_ok(two_region_ceil(7 * TWO_REGION_ONE) == 7 &&
		two_region_ceil(7 * TWO_REGION_ONE + 28) == 7 &&
		two_region_ceil(7 * TWO_REGION_ONE + TWO_REGION_ONE / 1000) == 8,
		"and what is just above");
}

static void pipe_has_bounds(void)
{
	unit_ok(two_region_pipe(1ULL << 37, 10000000, 64) == U64_MAX &&
		two_region_pipe(838860800000 / 8, 8000, 100) == U64_MAX &&
		two_region_pipe(838860800000 / 8 - 1, 8000, 100) < 1ULL << 55,
		"a pipe of 2^23 packets is too large, and a byte less is not");
}

UNIT_TESTS
{
	tables_of_chapter_8();
	table_6_1();
	table_4_2();
	arithmetic_keeps_its_bounds();
	pipe_has_bounds();
}
