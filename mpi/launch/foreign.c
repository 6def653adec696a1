/* SPDX-License-Identifier: Apache-2.0
 * foreign.c - options of the launchers of Open MPI and MPICH that have no meaning here: job scripts have them.
 */
#include <stdio.h>
#include <string.h>

#include "launch/words.h"

#define UNBOUND "ranks are not bound to processors, and fill the hosts in order; -ppn N sets the ranks of a host"
#define PARAMETER "Verbena does not have that library's parameters; its own are in docs/settings.md"
#define SILENT "mpiexec prints no such report"
#define INHERIT "ranks inherit all variables"
#define OUTPUT "output of ranks goes to mpiexec's own; -l puts the rank before each line"
#define COPIES "mpiexec runs the same path on each host, and copies nothing"
#define ENDS "a rank that fails ends the job"
#define SPAWNS "Verbena has no MPI_Comm_spawn and no MPI_Comm_connect"

static const struct {
    const char *name; /* without dashes */
    int values;       /* words behind it */
    const char *why;  /* it has no effect; NULL: nothing is lost */
} rows[] = {
    {"oversubscribe", 0, NULL},
    {"allow-run-as-root", 0, NULL},
    {"genvall", 0, NULL},
    {"envall", 0, NULL},
    {"genvlist", 1, NULL},
    {"envlist", 1, NULL},
    {"q", 0, NULL},
    {"quiet", 0, NULL},
    {"localhost", 1, NULL},
    {"noprefix", 0, NULL},
    {"disable-hostname-propagation", 0, NULL},
    {"disable-recovery", 0, NULL},
    {"leave-session-attached", 0, NULL},
    {"novm", 0, NULL},
    {"pmi-port", 0, NULL},
    {"genvnone", 0, INHERIT},
    {"envnone", 0, INHERIT},
    {"mca", 2, PARAMETER},
    {"gmca", 2, PARAMETER},
    {"prtemca", 2, PARAMETER},
    {"pmixmca", 2, PARAMETER},
    {"tune", 1, PARAMETER},
    {"am", 1, PARAMETER},
    {"personality", 1, PARAMETER},
    {"runtime-options", 1, PARAMETER},
    {"iface", 1, "VBN_TL_TCP_INTERFACE names the interface of Verbena"},
    {"map-by", 1, UNBOUND},
    {"rank-by", 1, UNBOUND},
    {"bind-to", 1, UNBOUND},
    {"rankmap", 1, UNBOUND},
    {"rankfile", 1, UNBOUND},
    {"rf", 1, UNBOUND},
    {"binding", 1, UNBOUND},
    {"membind", 1, UNBOUND},
    {"topolib", 1, UNBOUND},
    {"cpus-per-proc", 1, UNBOUND},
    {"cpus-per-rank", 1, UNBOUND},
    {"cpu-set", 1, UNBOUND},
    {"cpu-list", 1, UNBOUND},
    {"npersocket", 1, UNBOUND},
    {"ppr", 1, UNBOUND},
    {"order-nodes", 1, UNBOUND},
    {"bynode", 0, UNBOUND},
    {"byslot", 0, UNBOUND},
    {"bycore", 0, UNBOUND},
    {"bind-to-core", 0, UNBOUND},
    {"bind-to-socket", 0, UNBOUND},
    {"bind-to-none", 0, UNBOUND},
    {"use-hwthread-cpus", 0, UNBOUND},
    {"gpus-per-proc", 1, "each rank sees all devices, unless its program chooses one"},
    {"nooversubscribe", 0, "more ranks than processors are allowed"},
    {"nolocal", 0, "-hosts or -hostfile names the hosts of the ranks"},
    {"skip-launch-node", 0, "-hosts or -hostfile names the hosts of the ranks"},
    {"report-bindings", 0, SILENT},
    {"display", 1, SILENT},
    {"display-map", 0, SILENT},
    {"display-devel-map", 0, SILENT},
    {"display-allocation", 0, SILENT},
    {"display-topo", 0, SILENT},
    {"print-rank-map", 0, SILENT},
    {"print-all-exitcodes", 0, SILENT},
    {"report-pid", 1, SILENT},
    {"report-uri", 1, SILENT},
    {"report-events", 1, SILENT},
    {"report-state-on-timeout", 0, SILENT},
    {"get-stack-traces", 0, SILENT},
    {"show-progress", 0, SILENT},
    {"profile", 0, SILENT},
    {"v", 0, SILENT},
    {"verbose", 0, SILENT},
    {"debug-daemons", 0, SILENT},
    {"output-filename", 1, OUTPUT},
    {"outfile-pattern", 1, OUTPUT},
    {"errfile-pattern", 1, OUTPUT},
    {"output", 1, OUTPUT},
    {"prepend-pattern", 1, OUTPUT},
    {"timestamp-output", 0, OUTPUT},
    {"xml", 0, OUTPUT},
    {"xml-file", 1, OUTPUT},
    {"xterm", 1, OUTPUT},
    {"stdin", 1, "rank 0 reads the standard input"},
    {"prefix", 1, COPIES},
    {"path", 1, COPIES},
    {"preload-files", 1, COPIES},
    {"preload-binary", 0, COPIES},
    {"rmk", 1, "-hosts or -f names the hosts"},
    {"launch-agent", 1, "mpiexec starts itself on each host"},
    {"enable-x", 0, "-launcher-exec names a program that forwards X"},
    {"disable-x", 0, NULL},
    {"demux", 1, NULL},
    {"enable-recovery", 0, ENDS},
    {"max-restarts", 1, ENDS},
    {"continuous", 0, ENDS},
    {"with-ft", 1, ENDS},
    {"disable-auto-cleanup", 0, ENDS},
    {"usize", 1, SPAWNS},
    {"nameserver", 1, SPAWNS},
    {"ompi-server", 1, SPAWNS},
};

/* "ppr:N:node" places N ranks on each host; other ways are not there. */
static int take_mapping(launch_job_t *job, const char *way)
{
    int each, length = 0;
    if (strncmp(way, "ppr:", 4) != 0 || strstr(way, ":node") == NULL)
        return 0;
    if (sscanf(way, "ppr:%d:node%n", &each, &length) != 1 || length == 0 || each < 1 || each > WORDS_MOST_RANKS)
        words_refuse("--map-by %s: N of ppr:N:node is a number of ranks from 1 to %d", way, WORDS_MOST_RANKS);
    job->per_host = each;
    return 1;
}

/* Nothing is lost where the script asks for what is done anyway. */
static int is_so_anyway(const char *name, const char *value)
{
    return (strcmp(name, "bind-to") == 0 && strcmp(value, "none") == 0) ||
           (strcmp(name, "stdin") == 0 && strcmp(value, "0") == 0);
}

int foreign_take(launch_job_t *job, words_t *words, const char *word)
{
    const char *name = word + strspn(word, "-");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(name, rows[i].name) != 0)
            continue;
        const char *value = rows[i].values > 0 ? words_value(words, word) : NULL;
        if (rows[i].values > 1)
            (void)words_value(words, word);
        if (strcmp(name, "map-by") == 0 && take_mapping(job, value))
            return 1;
        if (rows[i].why != NULL && (value == NULL || !is_so_anyway(name, value)))
            launch_say("%s%s%s: no effect here: %s", word, value == NULL ? "" : " ", value == NULL ? "" : value,
                       rows[i].why);
        return 1;
    }
    return 0;
}
