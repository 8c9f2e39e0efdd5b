/* Peer of icprobe in probe.py that sends and receives by io_uring: an echo, a ping, a stream, a count.
 *
 *   probe_uring serve ADDRESS PORT BUFFER
 *   probe_uring ping|stream ADDRESS PORT BUFFER tcp|udp PAYLOAD SECONDS RATE BATCH
 *
 * serve answers one client after another. A client opens a control connection, says what it wants,
 * and waits for one byte. The data then take a TCP connection or UDP sockets of their own. One more
 * byte on the control connection ends the run, and the server answers what it received.
 *
 * Both ends wait in the kernel. A call of io_uring_enter submits BATCH frames: one request for each
 * datagram, or one request for all frames of a TCP connection, which lie side by side. RATE is in
 * frames a second, and 0 is unlimited.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#define GROUP 0               /* number of the buffer ring */
#define MOST_BATCH 256        /* requests of one call */
#define COMPLETIONS 4096      /* more than the requests and buffers in use */
#define MOST_PAYLOAD 65536    /* [B] */
#define MOST_TRIPS_PER_S 1000000
#define QUIET_NS 50000000     /* no frame for this long after the end: the last one has arrived [ns] */

enum { CONTROL = 1, DATA, SENT };

struct wish {
    uint32_t udp, echo, payload, udp_port;
};

struct tally {
    uint64_t bytes, ns;
};

static void fail(const char *what, int error)
{
    fprintf(stderr, "probe_uring: %s: %s\n", what, strerror(error));
    exit(1);
}

static int must(const char *what, int result)
{
    if (result < 0)
        fail(what, errno);
    return result;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* --- sockets -------------------------------------------------------------------------------- */

static struct sockaddr_in place(const char *address, int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
        fail(address, EINVAL);
    return at;
}

static int open_socket(int kind, int buffer)
{
    int one = 1, fd = must("socket", socket(AF_INET, kind, 0));
    must("SO_REUSEADDR", setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one));
    must("SO_SNDBUF", setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer));
    must("SO_RCVBUF", setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer));
    if (kind == SOCK_STREAM)
        must("TCP_NODELAY", setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
    return fd;
}

static void bind_to(int fd, struct sockaddr_in at)
{
    must("bind", bind(fd, (struct sockaddr *)&at, sizeof at));
}

static void connect_to(int fd, struct sockaddr_in at)
{
    must("connect", connect(fd, (struct sockaddr *)&at, sizeof at));
}

static bool read_all(int fd, void *into, size_t size)
{
    return recv(fd, into, size, MSG_WAITALL) == (ssize_t)size;
}

static void write_all(int fd, const void *from, size_t size)
{
    if (send(fd, from, size, MSG_NOSIGNAL) != (ssize_t)size)
        fail("control connection", errno);
}

/* --- ring: the data socket is its registered file 0 ------------------------------------------ */

static void open_ring(struct io_uring *ring, int data)
{
    struct io_uring_params wanted = {
        .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
        .cq_entries = COMPLETIONS,
    };
    int error = io_uring_queue_init_params(MOST_BATCH, ring, &wanted);
    if (error)
        fail("io_uring_setup", -error);
    error = io_uring_register_files(ring, &data, 1);
    if (error)
        fail("io_uring_register", -error);
    io_uring_register_ring_fd(ring);
}

static struct io_uring_sqe *request(struct io_uring *ring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    if (!sqe)
        fail("submission queue", EBUSY);
    return sqe;
}

static void send_frame(struct io_uring *ring, const void *frame, size_t size, unsigned flags)
{
    struct io_uring_sqe *sqe = request(ring);
    io_uring_prep_send(sqe, 0, frame, size, MSG_WAITALL | MSG_NOSIGNAL);
    io_uring_sqe_set_data64(sqe, SENT);
    sqe->flags |= IOSQE_FIXED_FILE | flags;
}

/* An answer is never there yet, so the request waits for it before it tries. */
static void receive_frame(struct io_uring *ring, void *frame, size_t size)
{
    struct io_uring_sqe *sqe = request(ring);
    io_uring_prep_recv(sqe, 0, frame, size, MSG_WAITALL);
    io_uring_sqe_set_data64(sqe, DATA);
    sqe->flags |= IOSQE_FIXED_FILE;
    sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
}

static void receive_end(struct io_uring *ring, int control, void *byte)
{
    struct io_uring_sqe *sqe = request(ring);
    io_uring_prep_recv(sqe, control, byte, 1, 0);
    io_uring_sqe_set_data64(sqe, CONTROL);
}

/* Submit, and wait for completions: for ever if the patience is 0. Return false if none came. */
static bool submit_and_wait(struct io_uring *ring, unsigned count, uint64_t patience_ns)
{
    struct io_uring_cqe *cqe;
    struct __kernel_timespec patience = {
        .tv_sec = patience_ns / 1000000000, .tv_nsec = patience_ns % 1000000000};
    int got = patience_ns
                  ? io_uring_submit_and_wait_timeout(ring, &cqe, count, &patience, NULL)
                  : io_uring_submit_and_wait(ring, count);
    if (got < 0 && got != -ETIME && got != -EINTR)
        fail("io_uring_enter", -got);
    return got != -ETIME;
}

/* --- server --------------------------------------------------------------------------------- */

static void echo(int data, int control, size_t payload)
{
    static char frames[2][MOST_PAYLOAD];
    struct io_uring ring;
    struct io_uring_cqe *cqe;
    unsigned head, turn = 0;
    bool ended = false;
    char byte;
    open_ring(&ring, data);
    receive_end(&ring, control, &byte);
    receive_frame(&ring, frames[0], payload);
    while (!ended) {
        unsigned seen = 0;
        submit_and_wait(&ring, 1, 0);
        io_uring_for_each_cqe(&ring, head, cqe) {
            seen++;
            if (cqe->user_data != DATA || cqe->res != (int)payload) {
                ended = true;
                continue;
            }
            send_frame(&ring, frames[turn], payload, IOSQE_CQE_SKIP_SUCCESS);
            turn = 1 - turn;
            receive_frame(&ring, frames[turn], payload);
        }
        io_uring_cq_advance(&ring, seen);
    }
    io_uring_queue_exit(&ring);
}

static void receive_all(struct io_uring *ring)
{
    struct io_uring_sqe *sqe = request(ring);
    io_uring_prep_recv_multishot(sqe, 0, NULL, 0, 0);
    io_uring_sqe_set_data64(sqe, DATA);
    sqe->flags |= IOSQE_FIXED_FILE | IOSQE_BUFFER_SELECT;
    sqe->buf_group = GROUP;
}

/* Count received bytes, and the time from the first to the last. */
static struct tally count(int data, int control, size_t size, unsigned buffers)
{
    struct io_uring ring;
    struct io_uring_cqe *cqe;
    struct tally tally = {0};
    uint64_t first = 0;
    bool ending = false, closed = false;
    unsigned head;
    char byte, *space = malloc(size * buffers);
    struct io_uring_buf_ring *ready = NULL;
    open_ring(&ring, data);
    if (!space || posix_memalign((void **)&ready, 4096, buffers * sizeof(struct io_uring_buf)))
        fail("buffers", ENOMEM);
    struct io_uring_buf_reg reg = {
        .ring_addr = (uintptr_t)ready, .ring_entries = buffers, .bgid = GROUP};
    int error = io_uring_register_buf_ring(&ring, &reg, 0);
    if (error)
        fail("buffer ring", -error);
    int mask = io_uring_buf_ring_mask(buffers);
    io_uring_buf_ring_init(ready);
    for (unsigned k = 0; k < buffers; k++)
        io_uring_buf_ring_add(ready, space + k * size, size, k, mask, k);
    io_uring_buf_ring_advance(ready, buffers);
    receive_end(&ring, control, &byte);
    receive_all(&ring);
    while (!closed && submit_and_wait(&ring, 1, ending ? QUIET_NS : 0)) {
        unsigned seen = 0, used = 0;
        uint64_t now = now_ns();
        io_uring_for_each_cqe(&ring, head, cqe) {
            seen++;
            if (cqe->user_data == CONTROL) {
                ending = true;
                continue;
            }
            if (cqe->flags & IORING_CQE_F_BUFFER) {
                unsigned k = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
                io_uring_buf_ring_add(ready, space + k * size, size, k, mask, used++);
            }
            if (cqe->res > 0) {
                first = first ? first : now;
                tally.bytes += cqe->res;
                tally.ns = now - first;
            } else if (cqe->res != -ENOBUFS) {
                closed = true;
            }
            if (!closed && !(cqe->flags & IORING_CQE_F_MORE))
                receive_all(&ring);
        }
        io_uring_buf_ring_cq_advance(&ring, ready, used);
        io_uring_cq_advance(&ring, seen - used);
    }
    io_uring_queue_exit(&ring);
    free(ready);
    free(space);
    return tally;
}

static void answer(int listener, struct sockaddr_in at, int buffer)
{
    struct sockaddr_in from;
    struct wish wish;
    struct tally tally = {0};
    socklen_t size = sizeof from;
    int data, control = must("accept", accept(listener, (struct sockaddr *)&from, &size));
    if (!read_all(control, &wish, sizeof wish)) {
        close(control); /* somebody only looked whether the server listens */
        return;
    }
    if (wish.udp) {
        data = open_socket(SOCK_DGRAM, buffer);
        bind_to(data, at);
        from.sin_port = htons(wish.udp_port);
        connect_to(data, from);
    } else {
        int one = 1;
        data = must("accept", accept(listener, NULL, NULL));
        must("TCP_NODELAY", setsockopt(data, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
    }
    write_all(control, "r", 1);
    if (wish.echo)
        echo(data, control, wish.payload);
    else
        tally = wish.udp ? count(data, control, wish.payload, 2048)
                         : count(data, control, MOST_PAYLOAD, 8);
    send(control, &tally, sizeof tally, MSG_NOSIGNAL);
    close(data);
    close(control);
}

static void serve(struct sockaddr_in at, int buffer)
{
    int listener = open_socket(SOCK_STREAM, buffer);
    bind_to(listener, at);
    must("listen", listen(listener, 8));
    for (;;)
        answer(listener, at, buffer);
}

/* --- client --------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The smallest trip that at least the given share of trips does not exceed [s]. */
static double quantile_s(const uint32_t *trips, size_t count, double share)
{
    size_t rank = (size_t)(share * count);
    rank += rank < share * count || !rank;
    return trips[rank - 1] * 1e-9;
}

static void ping(int data, size_t payload, double seconds)
{
    static char out[MOST_PAYLOAD], in[MOST_PAYLOAD];
    struct io_uring ring;
    struct io_uring_cqe *cqe;
    size_t most = seconds * MOST_TRIPS_PER_S, done = 0;
    uint32_t *trips = malloc(most * sizeof *trips);
    if (!trips)
        fail("trips", ENOMEM);
    open_ring(&ring, data);
    for (uint64_t before = now_ns(), until = before + seconds * 1e9; before < until && done < most;) {
        send_frame(&ring, out, payload, IOSQE_CQE_SKIP_SUCCESS);
        receive_frame(&ring, in, payload);
        submit_and_wait(&ring, 1, 0);
        if (io_uring_peek_cqe(&ring, &cqe))
            fail("echo", EINTR);
        if (cqe->user_data != DATA || cqe->res != (int)payload)
            fail("echo", cqe->res < 0 ? -cqe->res : EPIPE);
        io_uring_cqe_seen(&ring, cqe);
        uint64_t after = now_ns();
        trips[done++] = after - before;
        before = after;
    }
    qsort(trips, done, sizeof *trips, ascending);
    printf("{\"trips\": %zu, \"rtt_p50_s\": %.9f, \"rtt_p99_s\": %.9f}\n", done,
           quantile_s(trips, done, 0.5), quantile_s(trips, done, 0.99));
}

/* Send frames; a paced one leaves at its own time, or at once if it is late. */
static uint64_t stream(int data, bool udp, size_t payload, double seconds, double rate,
                       unsigned batch)
{
    static char frames[MOST_PAYLOAD];
    struct io_uring ring;
    struct io_uring_cqe *cqe;
    unsigned head, requests = udp ? batch : 1, frames_each = batch / requests;
    uint64_t sent = 0, start, now;
    open_ring(&ring, data);
    start = now = now_ns();
    while (now < start + seconds * 1e9) {
        if (rate > 0 && now < start + sent * 1e9 / rate) {
            now = now_ns();
            continue;
        }
        unsigned seen = 0;
        for (unsigned k = 0; k < requests; k++)
            send_frame(&ring, frames, frames_each * payload, 0);
        submit_and_wait(&ring, requests, 0);
        io_uring_for_each_cqe(&ring, head, cqe) {
            seen++;
            if (cqe->res != (int)(frames_each * payload))
                fail("send", cqe->res < 0 ? -cqe->res : EPIPE);
        }
        io_uring_cq_advance(&ring, seen);
        sent += seen * frames_each;
        now = now_ns();
    }
    return sent;
}

static void ask(bool echo, struct sockaddr_in at, int buffer, bool udp, char **words)
{
    size_t payload = strtoul(words[0], NULL, 10);
    double seconds = strtod(words[1], NULL), rate = strtod(words[2], NULL);
    unsigned batch = strtoul(words[3], NULL, 10);
    struct tally tally;
    uint64_t sent = 0;
    char ready;
    if (!payload || !batch || batch > MOST_BATCH || payload > MOST_PAYLOAD / batch || seconds <= 0)
        fail("payload, seconds or batch", ERANGE);
    int control = open_socket(SOCK_STREAM, buffer);
    connect_to(control, at);
    int data = open_socket(udp ? SOCK_DGRAM : SOCK_STREAM, buffer);
    connect_to(data, at);
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    must("getsockname", getsockname(data, (struct sockaddr *)&own, &size));
    struct wish wish = {udp, echo, payload, ntohs(own.sin_port)};
    write_all(control, &wish, sizeof wish);
    if (!read_all(control, &ready, 1))
        fail("server", ECONNRESET);
    if (echo)
        ping(data, payload, seconds);
    else
        sent = stream(data, udp, payload, seconds, rate, batch);
    write_all(control, "e", 1);
    if (!read_all(control, &tally, sizeof tally))
        fail("server", ECONNRESET);
    if (!echo)
        printf("{\"sent\": %lu, \"received\": %.17g, \"seconds\": %.9f}\n", sent,
               (double)tally.bytes / payload, tally.ns * 1e-9);
}

static void version(void)
{
    struct io_uring ring;
    struct utsname system;
    open_ring(&ring, must("socket", socket(AF_INET, SOCK_DGRAM, 0)));
    must("uname", uname(&system));
    printf("io_uring of %s %s\n", system.sysname, system.release);
}

int main(int count, char **words)
{
    if (count == 2 && !strcmp(words[1], "--version"))
        version();
    else if (count == 5 && !strcmp(words[1], "serve"))
        serve(place(words[2], atoi(words[3])), atoi(words[4]));
    else if (count == 10 && (!strcmp(words[1], "ping") || !strcmp(words[1], "stream")))
        ask(!strcmp(words[1], "ping"), place(words[2], atoi(words[3])), atoi(words[4]),
            !strcmp(words[5], "udp"), words + 6);
    else
        fail("arguments", EINVAL);
    return 0;
}
