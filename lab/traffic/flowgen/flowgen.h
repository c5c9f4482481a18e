/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface between flowgen's kinds of traffic and its core.
 */
#ifndef AQM_TOOLS_FLOWGEN_H
#define AQM_TOOLS_FLOWGEN_H

#include <linux/tcp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#define ARRAY_SIZE(x) (sizeof(x) / sizeof((x)[0]))
#define WRITE_CHUNK	(1024 * 1024)
#define READ_CHUNK	(1024 * 1024)

struct flow;

enum key_type { KEY_UINT, KEY_NS, KEY_TEXT, KEY_LONG_TEXT };

/*
 * A key of the flow file.
 * @offset: offset of its value in struct flow, or in the kind's state
 * @size: bytes of the value
 * @help: meaning; a required key must be given
 */
struct flow_key {
	const char *name;
	enum key_type type;
	size_t offset;
	size_t size;
	bool required;
	const char *help;
};

#define FLOW_KEY(_name, _type, _struct, _field, _required, _help) \
	{ _name, _type, offsetof(_struct, _field), \
	  sizeof(((_struct *)0)->_field), _required, _help }

/*
 * A log that only some kinds write. It is created, with its header, on first use.
 * @option: command-line option, without "--"
 */
struct flow_log {
	const char *option;
	const char *header;
	const char *path;
	FILE *file;
};

/*
 * A kind of traffic. Callbacks that a kind does not need are NULL.
 * @state_size: bytes of a flow's state, initially 0; the keys fill a part of it
 * @keys, @logs: in addition to the common ones
 * @open: create the sockets at start-up, without sending
 * @start: start sending, at the flow's start time
 * @tick: called at the time requested by flow_tick_at()
 * @stop: stop sending, at the stop time or at the end of the run
 * @finish: write logs, after the run has ended and all packets have arrived
 * @listen_event, @source_event, @sink_event: epoll events of this descriptor
 * @received: read pending data; return the payload bytes received so far
 * @missing: whether datagrams were sent that have not come
 */
struct flow_kind {
	const char *name;
	size_t state_size;
	const struct flow_key *keys;
	unsigned int nr_keys;
	struct flow_log *logs;
	unsigned int nr_logs;
	void (*open)(struct flow *f);
	void (*start)(struct flow *f);
	void (*tick)(struct flow *f);
	void (*stop)(struct flow *f);
	void (*finish)(struct flow *f);
	void (*listen_event)(struct flow *f, uint32_t events);
	void (*source_event)(struct flow *f, uint32_t events);
	void (*sink_event)(struct flow *f, uint32_t events);
	uint64_t (*received)(struct flow *f);
	bool (*missing)(struct flow *f);
};

extern const struct flow_kind flow_kind_bulk;
extern const struct flow_kind flow_kind_udp;
extern const struct flow_kind flow_kind_web;
extern const struct flow_kind flow_kind_query;
extern const struct flow_kind flow_kind_video;

/* In the order of the help. The first is the default. */
extern const struct flow_kind *const flow_kinds[];
extern const unsigned int nr_flow_kinds;

enum flow_phase { FLOW_WAITING, FLOW_RUNNING, FLOW_DONE };

struct address {
	struct sockaddr_storage sa;
	socklen_t len;
};

/*
 * @start_ns, @stop_ns: nanoseconds after the epoch
 * @sndbuf, @rcvbuf, @clamp, @mss, @lowat, @notsent: bytes; 0 leaves the kernel's default
 * @tos: byte for the IP header (DSCP in its upper six bits)
 * @listen_fd, @sink_fd, @source_fd: -1 when absent
 * @bytes: last known number of bytes received in order
 * @bytes_sent, @bytes_again: payload sent, and retransmitted payload
 * @again: retransmitted segments
 * @ecn: modes of ECN that the sink's connections have negotiated, a bit for each
 *	of enum ecn_mode
 * @ect: whether a sink's connection received a packet with ECT or CE
 * @segs_sent, @segs_received: data segments sent by the source and received by
 *	the sink, with retransmissions
 * @busy_us, @rwnd_us: time with data to send or unacknowledged, and the part of
 *	it in which the receive window prevented sending
 * @state: private to the kind
 */
struct flow {
	unsigned int id;
	char group[32];
	const struct flow_kind *kind;
	char source_netns[64];
	char sink_netns[64];
	char source_host[64];
	char sink_host[64];
	unsigned int source_port;
	unsigned int sink_port;
	int64_t start_ns;
	int64_t stop_ns;
	char cc[16];
	unsigned int sndbuf;
	unsigned int rcvbuf;
	unsigned int clamp;
	unsigned int mss;
	unsigned int lowat;
	unsigned int notsent;
	unsigned int nodelay;
	unsigned int tos;

	enum flow_phase phase;
	int listen_fd;
	int sink_fd;
	int source_fd;
	int source_error;
	struct address source_addr;
	struct address sink_addr;
	uint64_t bytes;
	uint64_t bytes_sent;
	uint64_t bytes_again;
	unsigned int again;
	unsigned int ecn;
	bool ect;
	uint64_t segs_sent;
	uint64_t segs_received;
	uint64_t busy_us;
	uint64_t rwnd_us;
	void *state;
};

/* As the kernel's tcpi_ecn_mode (TCPI_ECN_MODE_...). */
enum ecn_mode { ECN_NONE, ECN_RFC3168, ECN_ACCURATE, ECN_PENDING };

/* The end of a flow that an epoll event belongs to: low bits of its data. */
enum flow_end { END_LISTEN, END_SINK, END_SOURCE, END_TIMER };

/*
 * @epoch_ns: start of all times in files, on CLOCK_MONOTONIC
 * @quiet_ns: a datagram is lost if nothing has come for so long after the end;
 *	0: if no datagram has come for a second
 * @payload_fd: a file of WRITE_CHUNK bytes to send
 * @realtime_ns: CLOCK_REALTIME minus CLOCK_MONOTONIC, updated every interval;
 *	time stamps of packets use CLOCK_REALTIME
 */
struct flowgen {
	struct flow *flows;
	unsigned int nr_flows;
	struct instant *instants;
	unsigned int nr_instants;
	int epoll_fd;
	int timer_fd;
	int payload_fd;
	int64_t epoch_ns;
	int64_t duration_ns;
	int64_t interval_ns;
	int64_t quiet_ns;
	int64_t realtime_ns;
	FILE *progress;
	FILE *ends;
	FILE *tcp;		/* NULL: not wanted */
};

extern struct flowgen run;
extern char discarded[READ_CHUNK];
extern atomic_int interrupted;

/* flows.c */
void flows_read(const char *path);
void flow_keys_print(FILE *out);
const struct flow_kind *flow_kind_find(const char *name);

/* timetable.c: actions by time. Actions at the same time keep the order of the file. */
enum instant_what { INSTANT_START, INSTANT_TICK, INSTANT_STOP };

struct instant {
	int64_t at_ns;
	struct flow *flow;
	enum instant_what what;
};

void instants_make(void);
struct instant instant_take(void);
void flow_tick_at(struct flow *f, int64_t at_ns);

/* run.c */
int64_t realtime_offset_ns(void);
void run_flows(void);
void flows_finish(void);

/* logs.c */
void logs_open(const char *progress, const char *ends, const char *tcp);
void flow_tcp_row(const struct flow *f, int64_t at_ns);
void logs_close(void);
FILE *flow_log(struct flow_log *log);
void flow_count(struct flow *f, const struct tcp_info *info);
void flow_count_segs(struct flow *f);
void flow_end_row(struct flow *f, const struct tcp_info *info);

/*
 * web.c: requests of a session, and their log.
 * @think_ns: time before the request
 * @bytes: of the response
 */
struct request {
	int64_t think_ns;
	uint64_t bytes;
};

extern struct flow_log requests_log;
unsigned int requests_parse(const struct flow *f, const char *session, struct request **requests);

/* sockets.c */
void enter(const char *netns);
void set_option(int fd, int level, int option, const char *name,
		unsigned int value);
void set_congestion_control(int fd, const char *name);
void watch(int fd, struct flow *f, enum flow_end end, uint32_t events);
void watch_again(int fd, struct flow *f, enum flow_end end, uint32_t events);
void forget(int *fd);
bool tcp_info(int fd, struct tcp_info *info);
enum ecn_mode ecn_mode(int fd);

#endif /* AQM_TOOLS_FLOWGEN_H */
