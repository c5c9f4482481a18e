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

static const char *progress_path, *ends_path;

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

/* Open the logs that every run writes. flow_log() opens the others. */
void logs_open(const char *progress, const char *ends)
{
	progress_path = progress;
	ends_path = ends;
	run.progress = log_open(progress, progress_columns);
	run.ends = log_open(ends, ends_columns);
}

void logs_close(void)
{
	unsigned int i, j;

	log_close(run.progress, progress_path);
	log_close(run.ends, ends_path);
	for (i = 0; i < nr_flow_kinds; i++) {
		for (j = 0; j < flow_kinds[i]->nr_logs; j++) {
			struct flow_log *log = &flow_kinds[i]->logs[j];

			if (log->file)
				log_close(log->file, log->path);
		}
	}
}
