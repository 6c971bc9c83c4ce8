/* A system clock that tests can set: loaded before other libraries (LD_PRELOAD), it adds the
   nanoseconds that the file $SYSTEM_CLOCK_AHEAD holds to what the system says. Steady time, which
   nobody can set, stays as it is. Who waits until a time of this clock is woken at that time. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NANOSECONDS 1000000000
#define LONGEST_UP NANOSECONDS /* s: steady time begins when the machine does */

static volatile const int64_t *ahead;

__attribute__((constructor)) static void look_at_file(void)
{
    const char *path = getenv("SYSTEM_CLOCK_AHEAD");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *seen = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (seen != MAP_FAILED)
        ahead = seen;
}

int clock_gettime(clockid_t which, struct timespec *time)
{
    int failed = syscall(SYS_clock_gettime, which, time);
    if (failed || !ahead || (which != CLOCK_REALTIME && which != CLOCK_REALTIME_COARSE))
        return failed;
    int64_t all = (int64_t)time->tv_sec * NANOSECONDS + time->tv_nsec + *ahead;
    time->tv_sec = all / NANOSECONDS;
    time->tv_nsec = all % NANOSECONDS;
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *where)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where)
        *where = now.tv_sec;
    return now.tv_sec;
}

/* A deadline in the time of the system, and which clock it is about. */
static clockid_t of_system(const struct timespec *deadline, struct timespec *shifted)
{
    *shifted = *deadline;
    if (deadline->tv_sec < LONGEST_UP)
        return CLOCK_MONOTONIC;
    if (ahead) {
        int64_t all = (int64_t)deadline->tv_sec * NANOSECONDS + deadline->tv_nsec - *ahead;
        shifted->tv_sec = all / NANOSECONDS;
        shifted->tv_nsec = all % NANOSECONDS;
    }
    return CLOCK_REALTIME;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict deadline)
{
    struct timespec shifted;
    clockid_t which = of_system(deadline, &shifted);
    return pthread_cond_clockwait(condition, mutex, which, &shifted);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex,
                            const struct timespec *restrict deadline)
{
    struct timespec shifted;
    clockid_t which = of_system(deadline, &shifted);
    return pthread_mutex_clocklock(mutex, which, &shifted);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline)
{
    struct timespec shifted;
    clockid_t which = of_system(deadline, &shifted);
    return sem_clockwait(semaphore, which, &shifted);
}
