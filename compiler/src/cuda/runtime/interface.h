#ifndef CCL_INTERFACE_1
#define CCL_INTERFACE_1
#include <stddef.h>
#include <stdint.h>

/* The result of every function. `ccl_text` puts it into words; after CCL_DEVICE_ERROR, cudaGetLastError says more. */
typedef enum ccl_status {
    CCL_OK = 0,
    CCL_BAD_ARGUMENT,
    CCL_BAD_RANK,
    CCL_BAD_SIZE,
    CCL_BAD_ALIGNMENT,
    CCL_BAD_POINTER,
    CCL_BAD_TYPE,
    CCL_BAD_OPERATION,
    CCL_TOO_FEW_SMS,
    CCL_EXCHANGE_FAILED,
    CCL_OUT_OF_MEMORY,
    CCL_DEVICE_ERROR,
    CCL_BAD_DEVICE,
    CCL_OTHER_PROGRAM,
    CCL_OTHER_SIZE,
    CCL_OTHER_PACKET
} ccl_status;

/* Element types. */
typedef enum ccl_type { CCL_F32, CCL_F16, CCL_BF16, CCL_I32, CCL_U32, CCL_U8 } ccl_type;

/* How elements are combined. */
typedef enum ccl_op { CCL_SUM, CCL_MIN, CCL_MAX } ccl_op;

/* The form of packets: 8 bytes of data in 16, or 4 bytes in 8. All ranks must use the same form. */
typedef enum ccl_packet { CCL_LL16, CCL_LL8 } ccl_packet;

/* One rank's memory, as pointers that are valid in the process that holds them. */
typedef struct ccl_memory {
    void *input;
    void *output;
    void *scratch;
    void *sync;
} ccl_memory;

/* Fills `all`, which has one row for each rank, with the memory of every rank as this process can address it. The
   program's create function calls it once, when this rank's memory is ready; it returns after every rank has called
   it. 0 means success. Rows of ranks to which the program has no channel are not used; in the others, an address that
   the program needs must not be null. Create then compares what each rank was created from with that of its peers: where it
   fails, all ranks keep their memory until it has returned on all of them. */
typedef int (*ccl_exchange)(void *context, const ccl_memory *mine, ccl_memory *all);

/* The arguments of create. */
typedef struct ccl_setup {
    int rank;
    size_t message_bytes;   /* of the largest launch */
    ccl_packet packet;      /* for programs that use packets */
    ccl_memory memory;      /* this rank's, on the current device */
    ccl_exchange exchange;
    void *context;          /* passed to `exchange` */
    void *const *multicast; /* for programs with switch channels: an address for each of the groups; null for those
                               that this rank is not in */
} ccl_setup;

/* A status as text. */
static inline const char *ccl_text(ccl_status status) {
    switch (status) {
    case CCL_OK: return "no error";
    case CCL_BAD_ARGUMENT: return "a required pointer is null, or the form of packets is unknown or was not compiled";
    case CCL_BAD_RANK: return "the program has no such rank";
    case CCL_BAD_SIZE: return "the program does not serve this message size, or a buffer would be larger than memory can be";
    case CCL_BAD_ALIGNMENT: return "memory does not begin at a multiple of 16 bytes";
    case CCL_BAD_POINTER: return "input and output are not placed as the program requires";
    case CCL_BAD_TYPE: return "a chunk is not a whole number of elements, or the type does not support this operation, or they were not compiled";
    case CCL_BAD_OPERATION: return "the program does not support this operation";
    case CCL_TOO_FEW_SMS: return "the device cannot run all thread blocks at once";
    case CCL_EXCHANGE_FAILED: return "the exchange of pointers failed, or left out one that the program needs";
    case CCL_OUT_OF_MEMORY: return "out of memory for the handle";
    case CCL_DEVICE_ERROR: return "the device reported an error";
    case CCL_BAD_DEVICE: return "the current device is not the one on which the program was created";
    case CCL_OTHER_PROGRAM: return "a peer has created another program, or built by another version of cclc, or its sync memory is elsewhere";
    case CCL_OTHER_SIZE: return "a peer has created the program for another message size";
    case CCL_OTHER_PACKET: return "a peer has created the program for the other form of packets";
    }
    return "an unknown status";
}
#endif
