/* SPDX-License-Identifier: Apache-2.0
 * options.c - the command line of mpiexec.
 */
#include "launch/launch.h"
#include "launch/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    "  -f, -hostfile, -machinefile, -default-hostfile FILE   hosts of the job, one a line: A, A:4 or A slots=4\n"
    "  -ppn, -perhost, -npernode N   ranks in a row on each host; without numbers all hosts get equally many ranks\n"
    "  -launcher WAY      ssh: ssh starts the ranks; fork: this host plays all hosts, without shared memory between them\n"
    "  -launcher-exec PROGRAM   a program that takes the place of ssh (also VERBENA_SSH)\n"
    "  -fake-hosts N      this host plays N hosts\n"
    "  -x NAME=VALUE      as -env NAME VALUE; -x NAME: accepted, since ranks inherit all variables\n"
    "  -kill-after SECONDS   time between SIGTERM and SIGKILL when a signal ends the job, and time that ranks have to\n"
    "                     end when one rank has ended without MPI_Finalize (10)\n"
    "  --timeout SECONDS  then the job ends as by SIGTERM, with exit code 142 (also MPIEXEC_TIMEOUT)\n"
    "  -configfile, --app FILE   programs of the job, one a line with its options: -n 2 PROGRAM ARGUMENTS\n"
    "  --merge-stderr-to-stdout  as 2>&1 behind the command\n"
    "  --oversubscribe, --allow-run-as-root, -genvall, -envall   accepted: so it is here without them\n"
    "  -c, -bootstrap, -bootstrap-exec, -wd, -cwd, -tag-output, -prepend-rank, -N N, -pernode, --map-by ppr:N:node, -V, -info\n"
    "                     names that other launchers have for -n, -launcher, -launcher-exec, -wdir, -l, -ppn N, -ppn 1, --version\n"
    "  --mca A B, --map-by A, --bind-to A, --rank-by A, --report-bindings and more   options of Open MPI's and MPICH's launchers:\n"
    "                     accepted without effect, with one line that says so\n"
    "  -h, -help, --help  this list\n"
    "  --version          the version\n"
    "Signals: SIGTERM and SIGINT ask the ranks to end, by SIGTERM; a second SIGINT kills them. SIGUSR1, SIGUSR2, SIGHUP, SIGTSTP\n"
    "and SIGCONT go to all ranks. Exit code: that of the first failed rank, or 128 plus the number of its signal.\n"
    "Settings of Verbena are environment variables VBN_...: docs/settings.md. More: docs/mpi.md\n";

static int seconds_of(const char *option, const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);
    if (*text == 0 || *end != 0 || value < 0 || value > MOST_SECONDS)
        words_refuse("%s %s: not a number of seconds from 0 to %d", option, text, MOST_SECONDS);
    return (int)value;
}

static void add_variable(launch_part_t *part, const char *name, const char *value)
{
    part->environment = realloc(part->environment, sizeof(char *) * 2 * (size_t)(part->environment_count + 1));
    if (part->environment == NULL)
        words_refuse("no memory left");
    part->environment[2 * part->environment_count] = name;
    part->environment[2 * part->environment_count + 1] = value;
    part->environment_count++;
}

static void check(const char *option, const char *wrong)
{
    if (wrong != NULL)
        words_refuse("%s: %s", option, wrong);
}

static void choose_way(launch_job_t *job, const char *name)
{
    if (strcmp(name, "fork") == 0)
        job->way = LAUNCH_FORK;
    else if (strcmp(name, "ssh") == 0)
        job->way = LAUNCH_SSH;
    else
        words_refuse("-launcher %s: fork and ssh are there", name);
}

/* Options about hosts. -host belongs to its program; the others to all programs. */
static int take_host_option(launch_job_t *job, launch_part_t *part, words_t *words, const char *word)
{
    static const char *const own[] = {"-host", "--host", "-H", NULL};
    static const char *const all[] = {"-hosts", "--hosts", NULL};
    static const char *const file[] = {
        "-f", "-hostfile", "--hostfile", "-machinefile", "--machinefile", "-default-hostfile", "--default-hostfile",
        NULL};
    static const char *const each[] = {"-ppn", "--ppn", "-perhost", "-npernode", "--npernode", "-N", NULL};
    static const char *const one[] = {"-pernode", "--pernode", NULL};
    if (words_has(word, own))
        check(word, launch_list_names(job, &part->hosts, words_value(words, word)));
    else if (words_has(word, all))
        check(word, launch_list_names(job, &job->list, words_value(words, word)));
    else if (words_has(word, file))
        check(word, launch_list_file(job, &job->list, words_value(words, word)));
    else if (words_has(word, each))
        job->per_host = words_ranks(word, words_value(words, word));
    else if (words_has(word, one))
        job->per_host = 1;
    else if (strcmp(word, "-fake-hosts") == 0)
        job->fakes = words_ranks(word, words_value(words, word));
    else if (strcmp(word, "-launcher") == 0 || strcmp(word, "-bootstrap") == 0)
        choose_way(job, words_value(words, word));
    else if (strcmp(word, "-launcher-exec") == 0 || strcmp(word, "-bootstrap-exec") == 0)
        job->ssh = words_value(words, word);
    else
        return 0;
    return 1;
}

/* "NAME=VALUE" for this part, "NAME" as it is: ranks inherit it. */
static void take_x(launch_part_t *part, char *text)
{
    char *value = strchr(text, '=');
    if (*text == 0 || value == text)
        words_refuse("-x %s: give NAME or NAME=VALUE", text);
    if (value == NULL && getenv(text) == NULL)
        words_refuse("-x %s: there is no such variable here; give %s=VALUE", text, text);
    if (value == NULL)
        return;
    *value = 0;
    add_variable(part, text, value + 1);
}

#define COLLECTIVES "VBN_MPI_COLLECTIVES"

/* What the variable says, and the word that lets rank 0 print the table. */
static const char *with_explain(const char *forced)
{
    const int any = forced != NULL && *forced != 0;
    const size_t bytes = (any ? strlen(forced) : 0) + sizeof(",explain");
    char *value = malloc(bytes);
    if (value == NULL)
        words_refuse("no memory left");
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

/* Options of the job as a whole; 0: the word is none. */
static int take_job_option(launch_job_t *job, words_t *words, const char *word)
{
    static const char *const help[] = {"-h", "--help", "-help", NULL};
    static const char *const version[] = {"--version", "-version", "-V", "-info", NULL};
    static const char *const patience[] = {"-kill-after", "--kill-after", NULL};
    static const char *const limit[] = {"-timeout", "--timeout", NULL};
    static const char *const labels[] = {"-l", "--tag-output", "-tag-output", "-prepend-rank", NULL};
    static const char *const merge[] = {"-merge-stderr-to-stdout", "--merge-stderr-to-stdout", NULL};
    static const char *const explanation[] = {"-explain", "--explain", NULL};
    if (words_has(word, labels))
        job->labels = 1;
    else if (words_has(word, explanation))
        job->explain = 1;
    else if (words_has(word, patience))
        job->kill_after = seconds_of(word, words_value(words, word));
    else if (words_has(word, limit))
        job->timeout = seconds_of(word, words_value(words, word));
    else if (words_has(word, merge))
        (void)dup2(STDOUT_FILENO, STDERR_FILENO);
    else if (words_has(word, help)) {
        fputs(usage, stdout);
        exit(0);
    } else if (words_has(word, version)) {
        puts("mpiexec of Verbena " LAUNCH_VERSION);
        exit(0);
    } else
        return 0;
    return 1;
}

/* Takes one option; 0: the word is none. */
static int take_option(launch_job_t *job, launch_part_t *part, words_t *words)
{
    static const char *const count[] = {"-n", "--n", "-np", "--np", "-c", NULL};
    static const char *const folder[] = {"-wdir", "--wdir", "-wd", "--wd", "-cwd", NULL};
    static const char *const file[] = {"-configfile", "--configfile", "-app", "--app", NULL};
    const char *word = *words->at;
    if (word[0] != '-')
        return 0;
    words->at++;
    if (words_has(word, count)) {
        part->ranks = words_ranks(word, words_value(words, word));
    } else if (words_has(word, folder)) {
        part->folder = words_value(words, word);
    } else if (words_has(word, file)) {
        words_read_file(words, word, words_value(words, word));
    } else if (strcmp(word, "-env") == 0 || strcmp(word, "-genv") == 0) {
        const char *name = words_value(words, word);
        const char *value = words_value(words, word);
        if (word[1] == 'g') /* all ranks inherit it, whatever part comes before */
            (void)setenv(name, value, 1);
        else
            add_variable(part, name, value);
    } else if (strcmp(word, "-x") == 0) {
        take_x(part, words_value(words, word));
    } else if (!take_host_option(job, part, words, word) && !take_job_option(job, words, word) &&
               !foreign_take(job, words, word)) {
        words_refuse("unknown option %s", word);
    }
    return 1;
}

/* Whether another part follows. */
static int parse_part(launch_job_t *job, words_t *words)
{
    job->parts = realloc(job->parts, sizeof(*job->parts) * (size_t)(job->part_count + 1));
    if (job->parts == NULL)
        words_refuse("no memory left");
    launch_part_t *part = &job->parts[job->part_count++];
    *part = (launch_part_t){.ranks = 1};
    while (words->at < words->end && take_option(job, part, words))
        ;
    if (words->at == words->end || strcmp(*words->at, ":") == 0)
        words_refuse("no program is named");
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
    const char *limit = getenv("MPIEXEC_TIMEOUT");
    if (limit != NULL && *limit != 0)
        job->timeout = seconds_of("MPIEXEC_TIMEOUT", limit);
    while (parse_part(job, &words))
        ;
    if (job->explain)
        explain(job);
    if (job->size > WORDS_MOST_RANKS)
        words_refuse("%d ranks: at most %d", job->size, WORDS_MOST_RANKS);
    if (job->fakes > 0 && job->host_count > 0)
        words_refuse("-fake-hosts %d: hosts are named, too", job->fakes);
    if (job->ssh == NULL && (job->ssh = getenv("VERBENA_SSH")) == NULL)
        job->ssh = "ssh";
    check("hosts", launch_place(job));
}
