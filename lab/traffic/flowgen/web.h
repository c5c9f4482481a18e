/* SPDX-License-Identifier: GPL-2.0 */
/*
 * web.c for other kinds of flows whose clients ask for responses.
 */
#ifndef AQM_TOOLS_FLOWGEN_WEB_H
#define AQM_TOOLS_FLOWGEN_WEB_H

#include "flowgen.h"

/*
 * @session: the requests as in the flow file; @keep: one connection for all
 * @every_ns: time between two requests; 0: think after the request before
 * @requests, @nr: the whole session; @next: index of the current request
 * @asked_ns: time of the current request, after the epoch
 * @under_way: the current request was sent and is not complete and not failed
 * @asking: the connection is not yet established
 * @counted: the flow's counts include the server's connection
 * @to_get, @to_send: bytes that the client must receive and the server must send
 * @ask_left: bytes of the request that the server has not read
 * @lowat: current SO_RCVLOWAT of the client's socket
 * @done: told of each request that is complete or failed, with the time; may be NULL
 */
struct web {
	char *session;
	unsigned int keep;
	int64_t every_ns;
	struct request *requests;
	unsigned int nr;
	unsigned int next;
	int64_t asked_ns;
	bool under_way;
	bool asking;
	bool counted;
	uint64_t to_get;
	uint64_t to_send;
	unsigned int ask_left;
	unsigned int lowat;
	void (*done)(struct flow *f, bool complete, int64_t now_ns);
};

/* Callbacks of struct flow_kind, for a state that begins with struct web. */
void web_listen(struct flow *f);
void web_think(struct flow *f);
void web_tick(struct flow *f);
void web_stop(struct flow *f);
void web_listen_event(struct flow *f, uint32_t events);
void web_source_event(struct flow *f, uint32_t events);
void web_sink_event(struct flow *f, uint32_t events);
uint64_t web_received(struct flow *f);

#endif /* AQM_TOOLS_FLOWGEN_WEB_H */
