/* SPDX-License-Identifier: Apache-2.0
 * options.c - the command line of mpiexec.
 */
#include "launch/launch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_RANKS 65536
#define MOST_SECONDS 86400
#define KILL_AFTER 10 /* s: less than a batch system gives us, 30 with Slurm */

static const char usage[] =
    "usage: mpiexec [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...\n"
    "  -n, -np, --np N    ranks of this program (1)\n"
    "  -env NAME VALUE    a variable for the ranks of this program\n"
    "  -genv NAME VALUE   a variable for all ranks\n"
    "  -wdir FOLDER       working directory of the ranks of this program\n"
    "  -l                 each line of output begins with its rank\n"
    "  -explain           rank 0 prints at its start which algorithm each collective takes (VBN_MPI_COLLECTIVES=explain)\n"
    "  -hosts A,B:4       hosts of the job (B:4: 4 ranks in a row on host B); -host, -H: hosts of this program\n"
    "  -f, -hostfile, -machinefile FILE   hosts of the job, one a line: A, A:4 or A slots=4\n"
    "  -ppn, -perhost, -npernode N   ranks in a row on each host; without numbers all hosts get equally many ranks\n"
    "  -launcher WAY      ssh: ssh starts the ranks; fork: this host plays all hosts, without shared memory between them\n"
    "  -launcher-exec PROGRAM   a program that takes the place of ssh (also VERBENA_SSH)\n"
    "  -fake-hosts N      this host plays N hosts\n"
    "  -x NAME=VALUE      as -env NAME VALUE; -x NAME: accepted, since ranks inherit all variables\n"
    "  -kill-after SECONDS   time between SIGTERM and SIGKILL when a signal ends the job, and time that ranks have to\n"
    "                     end when one rank has ended without MPI_Finalize (10)\n"
    "  --oversubscribe, --allow-run-as-root, -genvall, -envall   accepted: so it is here without them\n"
    "  -c, -bootstrap, -bootstrap-exec, -wd, -cwd, -tag-output, -prepend-rank, --map-by ppr:N:node   names that other launchers\n"
    "                     have for -n, -launcher, -launcher-exec, -wdir, -l and -ppn N\n"
    "  --mca A B, --map-by A, --bind-to A, --rank-by A, --report-bindings and more   options of Open MPI's and MPICH's launchers:\n"
    "                     accepted without effect, with one line that says so\n"
    "  -h, -help, --help  this list\n"
    "  --version          the version\n"
    "Signals: SIGTERM and SIGINT ask the ranks to end, by SIGTERM; a second SIGINT kills them. SIGUSR1, SIGUSR2, SIGHUP, SIGTSTP\n"
    "and SIGCONT go to all ranks. Exit code: that of the first failed rank, or 128 plus the number of its signal.\n"
    "Settings of Verbena are environment variables VBN_...: docs/settings.md. More: docs/mpi.md\n";

__attribute__((noreturn, format(printf, 1, 2))) static void refuse(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    launch_say("%s; mpiexec --help lists the options", text);
    exit(2);
}

static int number_of(const char *option, const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);
    if (*text == 0 || *end != 0 || value < 1 || value > MOST_RANKS)
        refuse("%s %s: not a number of ranks from 1 to %d", option, text, MOST_RANKS);
    return (int)value;
}

static int seconds_of(const char *option, const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);
    if (*text == 0 || *end != 0 || value < 0 || value > MOST_SECONDS)
        refuse("%s %s: not a number of seconds from 0 to %d", option, text, MOST_SECONDS);
    return (int)value;
}

typedef struct words {
    char **at;
    char **end;
} words_t;

static char *value_of(words_t *words, const char *option)
{
    if (words->at == words->end || strcmp(*words->at, ":") == 0)
        refuse("%s needs a value", option);
    return *words->at++;
}

static void add_variable(launch_part_t *part, const char *name, const char *value)
{
    part->environment = realloc(part->environment, sizeof(char *) * 2 * (size_t)(part->environment_count + 1));
    if (part->environment == NULL)
        refuse("no memory left");
    part->environment[2 * part->environment_count] = name;
    part->environment[2 * part->environment_count + 1] = value;
    part->environment_count++;
}

static int is_one_of(const char *word, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(word, *names) == 0)
            return 1;
    return 0;
}

static void check(const char *option, const char *wrong)
{
    if (wrong != NULL)
        refuse("%s: %s", option, wrong);
}

static void choose_way(launch_job_t *job, const char *name)
{
    if (strcmp(name, "fork") == 0)
        job->way = LAUNCH_FORK;
    else if (strcmp(name, "ssh") == 0)
        job->way = LAUNCH_SSH;
    else
        refuse("-launcher %s: fork and ssh are there", name);
}

/* Options about hosts. -host belongs to its program; the others to all programs. */
static int take_host_option(launch_job_t *job, launch_part_t *part, words_t *words, const char *word)
{
    static const char *const own[] = {"-host", "--host", "-H", NULL};
    static const char *const all[] = {"-hosts", "--hosts", NULL};
    static const char *const file[] = {"-f", "-hostfile", "--hostfile", "-machinefile", "--machinefile", NULL};
    static const char *const each[] = {"-ppn", "--ppn", "-perhost", "-npernode", "--npernode", NULL};
    if (is_one_of(word, own))
        check(word, launch_list_names(job, &part->hosts, value_of(words, word)));
    else if (is_one_of(word, all))
        check(word, launch_list_names(job, &job->list, value_of(words, word)));
    else if (is_one_of(word, file))
        check(word, launch_list_file(job, &job->list, value_of(words, word)));
    else if (is_one_of(word, each))
        job->per_host = number_of(word, value_of(words, word));
    else if (strcmp(word, "-fake-hosts") == 0)
        job->fakes = number_of(word, value_of(words, word));
    else if (strcmp(word, "-launcher") == 0 || strcmp(word, "-bootstrap") == 0)
        choose_way(job, value_of(words, word));
    else if (strcmp(word, "-launcher-exec") == 0 || strcmp(word, "-bootstrap-exec") == 0)
        job->ssh = value_of(words, word);
    else
        return 0;
    return 1;
}

/* "NAME=VALUE" for this part, "NAME" as it is: ranks inherit it. */
static void take_x(launch_part_t *part, char *text)
{
    char *value = strchr(text, '=');
    if (*text == 0 || value == text)
        refuse("-x %s: give NAME or NAME=VALUE", text);
    if (value == NULL && getenv(text) == NULL)
        refuse("-x %s: there is no such variable here; give %s=VALUE", text, text);
    if (value == NULL)
        return;
    *value = 0;
    add_variable(part, text, value + 1);
}

/* Options of the launchers of Open MPI and MPICH that have no meaning here, and the words behind them. `why` NULL: nothing is
 * lost. */
#define UNBOUND "ranks are not bound to processors, and fill the hosts in order; -ppn N sets the ranks of a host"
#define PARAMETER "Verbena does not have that library's parameters; its own are in docs/settings.md"
#define SILENT "mpiexec prints no such report"
static const struct {
    const char *name; /* without dashes */
    int values;
    const char *why;
} foreign[] = {
    {"oversubscribe", 0, NULL},
    {"allow-run-as-root", 0, NULL},
    {"genvall", 0, NULL},
    {"envall", 0, NULL},
    {"genvlist", 1, NULL},
    {"envlist", 1, NULL},
    {"q", 0, NULL},
    {"quiet", 0, NULL},
    {"mca", 2, PARAMETER},
    {"gmca", 2, PARAMETER},
    {"prtemca", 2, PARAMETER},
    {"pmixmca", 2, PARAMETER},
    {"tune", 1, PARAMETER},
    {"am", 1, PARAMETER},
    {"iface", 1, "VBN_TL_TCP_INTERFACE names the interface of Verbena"},
    {"map-by", 1, UNBOUND},
    {"rank-by", 1, UNBOUND},
    {"bind-to", 1, UNBOUND},
    {"rankmap", 1, UNBOUND},
    {"binding", 1, UNBOUND},
    {"cpus-per-proc", 1, UNBOUND},
    {"cpus-per-rank", 1, UNBOUND},
    {"cpu-set", 1, UNBOUND},
    {"bynode", 0, UNBOUND},
    {"byslot", 0, UNBOUND},
    {"bind-to-core", 0, UNBOUND},
    {"bind-to-socket", 0, UNBOUND},
    {"bind-to-none", 0, UNBOUND},
    {"use-hwthread-cpus", 0, UNBOUND},
    {"nooversubscribe", 0, "more ranks than processors are allowed"},
    {"report-bindings", 0, SILENT},
    {"display-map", 0, SILENT},
    {"display-allocation", 0, SILENT},
    {"print-rank-map", 0, SILENT},
    {"print-all-exitcodes", 0, SILENT},
    {"v", 0, SILENT},
    {"verbose", 0, SILENT},
    {"prefix", 1, "mpiexec runs the same path on each host"},
    {"rmk", 1, "-hosts or -f names the hosts"},
};

/* "ppr:N:node" places N ranks on each host; other ways are not there. */
static int take_mapping(launch_job_t *job, const char *way)
{
    int each, length = 0;
    if (strncmp(way, "ppr:", 4) != 0 || strstr(way, ":node") == NULL)
        return 0;
    if (sscanf(way, "ppr:%d:node%n", &each, &length) != 1 || length == 0 || each < 1 || each > MOST_RANKS)
        refuse("--map-by %s: N of ppr:N:node is a number of ranks from 1 to %d", way, MOST_RANKS);
    job->per_host = each;
    return 1;
}

/* Takes an option of another launcher; 0: none has it. */
static int take_foreign_option(launch_job_t *job, words_t *words, const char *word)
{
    const char *name = word + strspn(word, "-");
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        if (strcmp(name, foreign[i].name) != 0)
            continue;
        const char *value = foreign[i].values > 0 ? value_of(words, word) : NULL;
        if (foreign[i].values > 1)
            (void)value_of(words, word);
        if (strcmp(name, "map-by") == 0 && take_mapping(job, value))
            return 1;
        if (foreign[i].why != NULL)
            launch_say("%s%s%s: no effect here: %s", word, value == NULL ? "" : " ", value == NULL ? "" : value,
                       foreign[i].why);
        return 1;
    }
    return 0;
}

#define COLLECTIVES "VBN_MPI_COLLECTIVES"

/* What the variable says, and the word that lets rank 0 print the table. */
static const char *with_explain(const char *forced)
{
    const int any = forced != NULL && *forced != 0;
    const size_t bytes = (any ? strlen(forced) : 0) + sizeof(",explain");
    char *value = malloc(bytes);
    if (value == NULL)
        refuse("no memory left");
    (void)snprintf(value, bytes, "%s%sexplain", any ? forced : "", any ? "," : "");
    return value;
}

/* -explain, behind all options: a part may have a value of its own. */
static void explain(launch_job_t *job)
{
    (void)setenv(COLLECTIVES, with_explain(getenv(COLLECTIVES)), 1);
    for (int part = 0; part < job->part_count; part++)
        for (int i = 0; i < job->parts[part].environment_count; i++) {
            const char **pair = &job->parts[part].environment[2 * i];
            if (strcmp(pair[0], COLLECTIVES) == 0)
                pair[1] = with_explain(pair[1]);
        }
}

/* Takes one option; 0: the word is none. */
static int take_option(launch_job_t *job, launch_part_t *part, words_t *words)
{
    static const char *const count[] = {"-n", "--n", "-np", "--np", "-c", NULL};
    static const char *const folder[] = {"-wdir", "--wdir", "-wd", "--wd", "-cwd", NULL};
    static const char *const help[] = {"-h", "--help", "-help", NULL};
    static const char *const patience[] = {"-kill-after", "--kill-after", NULL};
    static const char *const labels[] = {"-l", "--tag-output", "-tag-output", "-prepend-rank", NULL};
    const char *word = *words->at;
    if (word[0] != '-')
        return 0;
    words->at++;
    if (is_one_of(word, count)) {
        part->ranks = number_of(word, value_of(words, word));
    } else if (is_one_of(word, folder)) {
        part->folder = value_of(words, word);
    } else if (take_host_option(job, part, words, word)) {
        return 1;
    } else if (strcmp(word, "-env") == 0 || strcmp(word, "-genv") == 0) {
        const char *name = value_of(words, word);
        const char *value = value_of(words, word);
        if (word[1] == 'g') /* all ranks inherit it, whatever part comes before */
            (void)setenv(name, value, 1);
        else
            add_variable(part, name, value);
    } else if (strcmp(word, "-x") == 0) {
        take_x(part, value_of(words, word));
    } else if (is_one_of(word, labels)) {
        job->labels = 1;
    } else if (strcmp(word, "-explain") == 0 || strcmp(word, "--explain") == 0) {
        job->explain = 1;
    } else if (is_one_of(word, patience)) {
        job->kill_after = seconds_of(word, value_of(words, word));
    } else if (is_one_of(word, help)) {
        fputs(usage, stdout);
        exit(0);
    } else if (strcmp(word, "--version") == 0) {
        puts("mpiexec of Verbena " LAUNCH_VERSION);
        exit(0);
    } else if (!take_foreign_option(job, words, word)) {
        refuse("unknown option %s", word);
    }
    return 1;
}

/* Whether another part follows. */
static int parse_part(launch_job_t *job, words_t *words)
{
    launch_part_t *part = &job->parts[job->part_count++];
    part->ranks = 1;
    while (words->at < words->end && take_option(job, part, words))
        ;
    if (words->at == words->end || strcmp(*words->at, ":") == 0)
        refuse("no program is named");
    part->arguments = words->at;
    while (words->at < words->end && strcmp(*words->at, ":") != 0)
        words->at++;
    job->size += part->ranks;
    if (words->at == words->end)
        return 0;
    *words->at++ = NULL; /* the colon ends the arguments, as the end of argv does */
    return 1;
}

void launch_parse(launch_job_t *job, int argc, char **argv)
{
    words_t words = {.at = argv + 1, .end = argv + argc};
    job->kill_after = KILL_AFTER;
    job->parts = calloc((size_t)argc + 1, sizeof(*job->parts));
    if (job->parts == NULL)
        refuse("no memory left");
    while (parse_part(job, &words))
        ;
    if (job->explain)
        explain(job);
    if (job->size > MOST_RANKS)
        refuse("%d ranks: at most %d", job->size, MOST_RANKS);
    if (job->fakes > 0 && job->host_count > 0)
        refuse("-fake-hosts %d: hosts are named, too", job->fakes);
    if (job->ssh == NULL && (job->ssh = getenv("VERBENA_SSH")) == NULL)
        job->ssh = "ssh";
    check("hosts", launch_place(job));
}
