// Runs one command. Neither this program nor the command outlives its parent.
//
//     supervise [--timeout SECONDS] [--usage] [--] COMMAND ARGUMENT…
//
// The command runs in its own process group, with stdin on /dev/null. The group is killed when the stdin of this program reaches its end
// (the parent has ended for any reason), on SIGINT, SIGTERM and SIGHUP, and when the time is over (status 124). With --usage, the command's
// wall time, CPU time and peak memory are printed as one line of JSON when it has ended. The program is written in C because a small parent
// matters: a process starts with its parent's size as its peak memory.

#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop_signal;

static void on_signal(int number) {
    if (number != SIGCHLD) stop_signal = number;
}

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/// Starts the command. Returns only in the parent.
static pid_t start(char **command, const sigset_t *signals) {
    pid_t child = fork();
    if (child != 0) return child;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_SETMASK, signals, NULL);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0) dup2(null, STDIN_FILENO);
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

/// Waits until the child has ended or must be ended. Returns false in the latter case.
static bool child_ended(pid_t child, double deadline, const sigset_t *signals, int *status, struct rusage *usage) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (stop_signal == 0) {
        if (wait4(child, status, WNOHANG, usage) == child) return true;
        double left = deadline - now_seconds();
        if (left <= 0) return false;
        struct timespec timeout = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
        char ignored[64];
        if (ppoll(&input, 1, &timeout, signals) > 0 && read(STDIN_FILENO, ignored, sizeof ignored) <= 0) return false;
    }
    return false;
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"timeout", required_argument, NULL, 't'}, {"usage", no_argument, NULL, 'u'}, {NULL, 0, NULL, 0}};
    double timeout = 1e9;
    bool prints_usage = false;
    int option;
    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        switch (option) {
        case 't': timeout = atof(optarg); break;
        case 'u': prints_usage = true; break;
        default: return 64;
        }
    }
    if (optind == argc) return 64;

    // Signals arrive only inside ppoll, so that none is missed between a check and the wait.
    const int handled[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
    sigset_t blocked, before;
    sigemptyset(&blocked);
    struct sigaction action = {.sa_handler = on_signal};
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
        sigaddset(&blocked, handled[i]);
        sigaction(handled[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &blocked, &before);

    double start_time = now_seconds();
    pid_t child = start(argv + optind, &before);
    if (child < 0) return perror("fork"), 1;
    setpgid(child, child);

    int status = 0;
    struct rusage usage;
    bool ended = child_ended(child, start_time + timeout, &before, &status, &usage);
    double wall = now_seconds() - start_time;
    kill(-child, SIGKILL);
    if (!ended) {
        wait4(child, &status, 0, &usage);
        return wall >= timeout ? 124 : 1;
    }
    if (prints_usage) {
        printf("{\"seconds\":%.9f,\"cpu_seconds\":%.6f,\"peak_rss_mb\":%.3f}\n", wall,
               seconds(usage.ru_utime) + seconds(usage.ru_stime), (double)usage.ru_maxrss * 1024 / 1e6);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
