/*
 * Makes every WAL flush slower by a time that can be changed while the server runs.
 *
 * Loaded into PostgreSQL by LD_PRELOAD. The server flushes its WAL with fdatasync(2) (wal_sync_method = fdatasync, the
 * default on Linux); this one calls the real one first and then sleeps. The delay is read from a file that all
 * processes map: four bytes, microseconds. A file instead of a restart, so that fast and slow are measured in one run
 * on one warm server. The delay comes after the flush and inside the WAL write lock, where a slow disk's would be, so
 * that group commit behaves as it does on one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static int (*real_fdatasync)(int);
static volatile const uint32_t *delay_us;

__attribute__((constructor)) static void load(void)
{
    const char *path = getenv("LASTRO_BENCH_FLUSH_DELAY");
    real_fdatasync = (int (*)(int)) dlsym(RTLD_NEXT, "fdatasync");
    if (path == NULL)
        return;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof(uint32_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED)
        delay_us = mapped;
}

int fdatasync(int file)
{
    int result = real_fdatasync(file);
    int error = errno;
    uint32_t wait_us = delay_us == NULL ? 0 : *delay_us;
    if (wait_us > 0) {
        struct timespec until;
        /* The kernel's default slack of 50 us would come on top of the delay. */
        prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long) wait_us * 1000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        /* Signals interrupt the sleep, not the delay: the moment it ends at stays. */
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            ;
    }
    errno = error;
    return result;
}
