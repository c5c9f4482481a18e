// SPDX-License-Identifier: GPL-2.0
/*
 * Logs: CSV with a header line. Times are seconds since the epoch.
 */
#define _GNU_SOURCE
#include "../clock.h"
#include "flowgen.h"

#define LOG_BUFFER	(1024 * 1024)

static const char progress_columns[] = "time_s,flow,bytes";
/* Columns of every flow, and of TCP. */
#define ENDS_FLOW	"flow,group,kind,start_s,end_s,bytes,bytes_sent,"
#define ENDS_TCP	"bytes_retransmitted,retransmits,rtt_ms,min_rtt_ms,cwnd,mss,delivered_ce," \
			"busy_ms,rwnd_limited_ms,unsent,segs_sent,segs_received,ecn,ect,"

static const char ends_columns[] = ENDS_FLOW ENDS_TCP "error";

/*
 * What the source's kernel knows of a connection (struct tcp_info). ssthresh is empty until the
 * first loss. Windows are in segments of mss bytes. With several connections of a flow one after
 * the other, each begins again.
 */
#define TCP_STATE	"time_s,flow,state,cwnd,ssthresh,mss,srtt_ms,rttvar_ms,rto_ms,pacing_mbps,"
#define TCP_SEGMENTS	"delivered,delivered_ce,retransmits,unacked,lost"

static const char tcp_columns[] = TCP_STATE TCP_SEGMENTS;

#define INFINITE_SSTHRESH	0x7fffffff
#define ESTABLISHED		1	/* <netinet/tcp.h> has it, but clashes with <linux/tcp.h> */

static const char *progress_path, *ends_path, *tcp_path;

static FILE *log_open(const char *path, const char *header)
{
	FILE *out = fopen(path, "w");

	if (!out)
		err(2, "%s", path);
	setvbuf(out, NULL, _IOFBF, LOG_BUFFER);
	fprintf(out, "%s\n", header);
	return out;
}

static void log_close(FILE *out, const char *path)
{
	if (ferror(out) || fclose(out))
		err(1, "%s", path);
}

FILE *flow_log(struct flow_log *log)
{
	if (!log->path)
		errx(2, "a flow of this kind needs --%s FILE", log->option);
	if (!log->file)
		log->file = log_open(log->path, log->header);
	return log->file;
}

/* Add the counts of a finished connection to its flow. */
void flow_count(struct flow *f, const struct tcp_info *info)
{
	f->bytes_sent += info->tcpi_bytes_sent;
	f->bytes_again += info->tcpi_bytes_retrans;
	f->again += info->tcpi_total_retrans;
	f->busy_us += info->tcpi_busy_time;
	f->rwnd_us += info->tcpi_rwnd_limited;
}

/*
 * Count the segments of the connection between @f's two sockets, and note its ECN.
 * Read both ends at the same time, because segments sent after the sink has closed
 * are lost.
 */
void flow_count_segs(struct flow *f)
{
	struct tcp_info source, sink;

	if (!tcp_info(f->source_fd, &source) || !tcp_info(f->sink_fd, &sink))
		return;
	f->segs_sent += source.tcpi_data_segs_out;
	f->segs_received += sink.tcpi_data_segs_in;
	f->ecn |= 1u << ecn_mode(f->sink_fd);
	f->ect |= sink.tcpi_options & TCPI_OPT_ECN_SEEN;
}

static const char *ecn_name(const struct flow *f)
{
	if (f->ecn == 1u << ECN_ACCURATE)
		return "accecn";
	if (f->ecn == 1u << ECN_RFC3168)
		return "ecn";
	return f->ecn & ~(1u << ECN_NONE) ? "mixed" : "none";
}

/* Write the flow's row in --ends. @info is zero for other protocols than TCP. */
void flow_end_row(struct flow *f, const struct tcp_info *info)
{
	int64_t now = mono_ns() - run.epoch_ns;

	fprintf(run.ends,
		"%u,%s,%s,%.6f,%.6f,%llu,%llu,%llu,%u,%.3f,%.3f,%u,%u,%u,%.3f,%.3f,%u,%llu,%llu,%s,%d,%d\n",
		f->id, f->group, f->kind->name,
		(double)f->start_ns / NSEC_PER_SEC, (double)now / NSEC_PER_SEC,
		(unsigned long long)f->bytes,
		(unsigned long long)f->bytes_sent,
		(unsigned long long)f->bytes_again, f->again,
		info->tcpi_rtt / 1e3, info->tcpi_min_rtt / 1e3,
		info->tcpi_snd_cwnd, info->tcpi_snd_mss,
		info->tcpi_delivered_ce, f->busy_us / 1e3, f->rwnd_us / 1e3,
		info->tcpi_notsent_bytes,
		(unsigned long long)f->segs_sent,
		(unsigned long long)f->segs_received, ecn_name(f), f->ect,
		f->source_error);
}

/* Write the state of @f's TCP connection, if it has one now. */
void flow_tcp_row(const struct flow *f, int64_t at_ns)
{
	static const char *const states[] = { "open", "disorder", "cwr", "recovery", "loss" };
	struct tcp_info info;
	char ssthresh[16] = "";

	if (!tcp_info(f->source_fd, &info) || info.tcpi_state != ESTABLISHED)
		return;
	if (info.tcpi_snd_ssthresh < INFINITE_SSTHRESH)
		snprintf(ssthresh, sizeof(ssthresh), "%u", info.tcpi_snd_ssthresh);
	fprintf(run.tcp, "%.3f,%u,%s,%u,%s,%u,%.3f,%.3f,%.3f,%.3f,%u,%u,%u,%u,%u\n",
		(double)at_ns / NSEC_PER_SEC, f->id,
		info.tcpi_ca_state < ARRAY_SIZE(states) ? states[info.tcpi_ca_state] : "unknown",
		info.tcpi_snd_cwnd, ssthresh, info.tcpi_snd_mss, info.tcpi_rtt / 1e3,
		info.tcpi_rttvar / 1e3, info.tcpi_rto / 1e3, info.tcpi_pacing_rate * 8 / 1e6,
		info.tcpi_delivered, info.tcpi_delivered_ce, info.tcpi_total_retrans,
		info.tcpi_unacked, info.tcpi_lost);
}

/* Open the logs that every run writes, and TCP's if wanted. flow_log() opens the others. */
void logs_open(const char *progress, const char *ends, const char *tcp)
{
	progress_path = progress;
	ends_path = ends;
	tcp_path = tcp;
	run.progress = log_open(progress, progress_columns);
	run.ends = log_open(ends, ends_columns);
	if (tcp)
		run.tcp = log_open(tcp, tcp_columns);
}

void logs_close(void)
{
	unsigned int i, j;

	log_close(run.progress, progress_path);
	log_close(run.ends, ends_path);
	if (run.tcp)
		log_close(run.tcp, tcp_path);
	for (i = 0; i < nr_flow_kinds; i++) {
		for (j = 0; j < flow_kinds[i]->nr_logs; j++) {
			struct flow_log *log = &flow_kinds[i]->logs[j];

			if (log->file)
				log_close(log->file, log->path);
		}
	}
}
