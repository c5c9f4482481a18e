// SPDX-License-Identifier: GPL-2.0
/*
 * flow_age.h against a list of flows that is searched from end to end, and
 * sorted by which was seen last.
 */
#include <aqm/redtail/flow_age.h>
#include "unit.h"

#define SETS	3
#define FLOWS	60
#define TAU	1000

/* What the header promises, without a table: flows of each set by key. */
struct model {
	struct {
		u32 key, packets, used;
		u64 first, last;
	} flows[SETS][FLOW_AGE_WAYS];
	u32 held[SETS], arrivals, new, evicted;
};

static struct flow_key key_of(u32 id)
{
	/* Keys differ in any one word: all of the key must count. */
	u32 words[sizeof(struct flow_key) / sizeof(u32)] = {};
	struct flow_key key;

	words[id % ARRAY_SIZE(words)] = 100 + id;
	memcpy(&key, words, sizeof(key));
	key.kind++;
	return key;
}

/* A hash that falls into a set by the multiplication in the header; some share it. */
static u32 hash_of(u32 id)
{
	return (u32)(((u64)(id % SETS) << 32) / SETS) + 7 + id / SETS % 13;
}

static struct flow_age_table table(u32 flows)
{
	struct flow_age_table t = {};
	u32 sets = flow_age_sets(flows);

	flow_age_init(&t, calloc(sets, FLOW_AGE_SET), calloc(sets, sizeof(u64)), sets);
	return t;
}

static u32 model_see(struct model *m, u32 id, u32 packets, u64 now, u64 *first)
{
	u32 set = id % SETS, n = m->held[set], oldest = 0, i;

	for (i = 0; i < n; i++)
		if (m->flows[set][i].key == id)
			break;
	if (i < n && now - m->flows[set][i].last > TAU) {
		m->flows[set][i].packets = 0;
	} else if (i == n && n < FLOW_AGE_WAYS) {
		m->held[set]++;
		m->flows[set][i].packets = 0;
	} else if (i == n) {
		for (i = 1; i < n; i++)
			if (m->flows[set][i].used < m->flows[set][oldest].used)
				oldest = i;
		i = oldest;
		m->evicted += now - m->flows[set][i].last <= TAU;
		m->flows[set][i].packets = 0;
	}
	if (!m->flows[set][i].packets) {
		m->new++;
		m->flows[set][i].key = id;
		m->flows[set][i].first = now;
	}
	m->flows[set][i].packets += packets;
	m->flows[set][i].last = now;
	m->flows[set][i].used = m->arrivals++;
	*first = m->flows[set][i].first;
	return m->flows[set][i].packets;
}

static void test_against_the_model(void)
{
	struct flow_age_table t = table(SETS * FLOW_AGE_WAYS);
	u32 tagged[FLOWS] = {}, misplaced = 0, wrong = 0, tags = 0, forgotten = 0;
	struct flow_age_stats st = {};
	static struct model m;
	u64 now = 5;

	for (int i = 0; i < 200000; i++) {
		/* few flows for a while, then many */
		u32 id = unit_below(i / 5000 % 3 ? FLOWS : 12);
		u32 packets = 1 + unit_below(3), before = m.new;
		struct flow_key key = key_of(id);
		struct flow_age *fa;
		u64 first;
		u32 n;

		now += unit_below(4) ? unit_below(20) : unit_below(TAU / 4);
		if (unit_below(500) == 0)
			now += TAU - 1 + unit_below(3);
		if (unit_below(3000) == 0) {
			flow_age_forget(&t);
			memset(m.held, 0, sizeof(m.held));
			forgotten++;
		}
		n = model_see(&m, id, packets, now, &first);
		fa = flow_age_see(&t, &st, &key, hash_of(id), packets, now, TAU);
		wrong += fa->packets != n || fa->first != first ||
			 fa->last != now ||
			 memcmp(&fa->key, &key, sizeof(key));
		misplaced += (fa - t.slots) / FLOW_AGE_WAYS != id % SETS;
		if (m.new != before)
			tagged[id] = 0;
		tags += fa->tag != tagged[id];
		tagged[id] = 1 + unit_below(5);
		fa->tag = tagged[id];
	}
	unit_ok(!wrong, "packets, first and last of every flow");
	unit_ok(!misplaced, "a flow stays in its hash's set");
	unit_ok(!tags, "the caller's tag lasts as long as the flow");
	unit_ok(forgotten > 20, "all flows forgotten at once, %u times", forgotten);
	unit_ok(st.new == m.new && m.new > 1000, "%u new flows", m.new);
	unit_ok(st.evicted == m.evicted && m.evicted > 1000 &&
		m.new - m.evicted > 1000, "%u evicted", m.evicted);
	free(t.slots);
	free(t.orders);
}

static void test_saturation(void)
{
	struct flow_age_table t = table(FLOW_AGE_WAYS);
	struct flow_key key = key_of(1);
	struct flow_age_stats st = {};

	flow_age_see(&t, &st, &key, U32_MAX, U32_MAX - 1, 1, TAU);
	unit_ok(flow_age_see(&t, &st, &key, U32_MAX, 5, 1, TAU)->packets == U32_MAX,
		"the count stops at its end");
	unit_ok(flow_age_see(&t, &st, &key, U32_MAX, 5, 1 + TAU, TAU)->packets == U32_MAX,
		"tau itself is not too long");
	unit_ok(flow_age_see(&t, &st, &key, U32_MAX, 5, 2 + 2 * TAU, TAU)->packets == 5,
		"one more is");
	free(t.slots);
	free(t.orders);
}

/* A slot that was not used for 65536 generations is not taken for a new one. */
static void test_a_generation_does_not_come_back(void)
{
	struct flow_age_table t = table(FLOW_AGE_WAYS);
	struct flow_key key = key_of(1);
	struct flow_age_stats st = {};
	u32 i;

	flow_age_see(&t, &st, &key, 0, 7, 1, TAU);
	for (i = 0; i < 65536; i++)
		flow_age_forget(&t);
	unit_ok(flow_age_see(&t, &st, &key, 0, 1, 1, TAU)->packets == 1 && st.new == 2 &&
		!st.evicted, "after 65536 times a forgotten flow is still forgotten");
	free(t.slots);
	free(t.orders);
}

UNIT_TESTS
{
	test_against_the_model();
	test_saturation();
	test_a_generation_does_not_come_back();
}
