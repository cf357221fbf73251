/* SPDX-License-Identifier: MIT */
/*
 * A later row, two nodes: written, claimed, sent, put back because no executor could be reached, deleted; takeovers, a crash,
 * commits of unknown outcome, somebody who cancels it, somebody who stops its job.
 *
 * What wheel, ring and cursor do is in shard.pml. Here an entry goes to dispatch in one step, when its epoch is that of the
 * cursor's row, and the row is then behind the cursor. What ends as "delivery unknown" is ended when nobody can send it or write
 * its result any more: deadline.pml has the times. Any step may come at any time after the one before it. A transaction is one
 * step, but for a COMMIT whose answer is lost: it stays at the server with the shard's row, and is carried out or rolled back at
 * any later time. A result whose answer is lost has been written, and is written once more at any later time.
 *
 * What must hold:
 *   twice      it is sent once
 *   after      nothing is sent that has ended as "delivery unknown"
 *   blame      nothing ends so that waits for an executor
 *   own        it is sent with the parameter and the addresses that it has of its own
 *   cancelled  what was cancelled is not sent
 *   open       when nothing more can happen, it has gone out and ended, or was cancelled, and the later row is gone
 *
 * Each rule can be taken out by a -D; `check` has the list.
 */

#ifndef TAKEOVERS
#define TAKEOVERS 3
#endif
#ifndef FAULTS
#define FAULTS 2 /* a crash, a claim's or a result's commit of unknown outcome */
#endif
#ifndef AWAY
#define AWAY 2 /* so often no executor can be reached */
#endif

#ifndef CANCELS
#define CANCELS 1
#endif

#define NAME(n) ('A' + (n))
#define HOLDS(condition, name) if :: (condition) :: else -> printf(name); assert(false) fi

/* ---- the database ------------------------------------------------------------------------------------------------- */

#define GONE 0
#define WAITS 1
#define PLANNED 2
byte later = WAITS;

#define NONE 0
#define OPEN 1
#define HELD 2
#define DONE 3
#define UNKNOWN 4
#define REMOVED 5
byte row;     /* of the log */
byte second;  /* in its mark: which try it is */
bit passed;   /* the cursor is at or behind it */
byte epoch;   /* of the shard and of its cursor */

bit limbo;    /* a claim whose COMMIT is on its way; it holds the shard's row */

byte takeovers = TAKEOVERS, faults = FAULTS, away = AWAY;
byte may_stop = 1, may_cancel = CANCELS;
bit job_stops, cancelled, sent;

/* ---- the nodes ---------------------------------------------------------------------------------------------------- */

#define IDLE 0
#define READ 1    /* it has read the row, which waited then */
#define HALF 2    /* only with LATER_APART: the planned fire is written, the later row is not */
#define DOUBT 3

#define NOTHING 0
#define TOOK 1    /* the executor has it */
#define NOBODY 2  /* none could be reached */

typedef Node {
  bit alive;
  byte epoch;     /* that it works under; 0: it owns nothing, as far as it knows */
  byte at;
  byte wheel;     /* entries of its epoch */
  bit own;        /* they know what the later row has of its own */
  bit in_flight;
  bit flight_own;
  byte flight_second;
  byte result;    /* to be written */
  byte result_second;
  bit half_held;  /* only with HELD_APART: the row of the log says that it waits, nothing else does */
}
Node node[2];

#define HOLDS_EPOCH(n) (node[n].epoch == epoch)
#define FREE (!limbo)
#define IN_HAND(n) (node[n].in_flight || node[n].result != NOTHING)

inline forget(n)
{
  node[n].epoch = 0; node[n].at = IDLE; node[n].wheel = 0; node[n].own = 0
}

/* It raises the epoch and loads what is planned beyond the cursor. Nothing else decides who may: ZooKeeper may err. */
inline take(n)
{
  d_step {
    node[n].alive && FREE && takeovers > 0 && !(HOLDS_EPOCH(n) && epoch > 0) ->
    takeovers--;
    epoch++;
    forget(n);
    node[n].epoch = epoch;
    node[n].wheel = (row == OPEN && !passed -> 1 : 0);
#ifdef LATER_LOADED_BARE
    node[n].own = 0;
#else
    node[n].own = (later == PLANNED);
#endif
    printf("%c takes over, epoch %d, and loads %d\n", NAME(n), epoch, node[n].wheel)
  }
}

/* Only while the other one lives, and can have the shard. */
inline crash(n)
{
  d_step {
    node[n].alive && node[1 - n].alive && faults > 0 && takeovers > 0 ->
    faults--;
    node[n].alive = 0;
    forget(n);
    node[n].in_flight = 0; node[n].flight_own = 0; node[n].flight_second = 0;
    node[n].result = NOTHING; node[n].result_second = 0;
    node[n].half_held = 0;
    printf("%c dies\n", NAME(n))
  }
}

/* ---- claim -------------------------------------------------------------------------------------------------------- */

inline read_later(n)
{
  d_step {
    node[n].alive && node[n].epoch > 0 && node[n].at == IDLE && later == WAITS && HOLDS_EPOCH(n) ->
    node[n].at = READ;
    printf("%c reads the later row\n", NAME(n))
  }
}

/* The row of the log that waited goes on; else there is a new one. */
inline write_fire()
{
  row = OPEN;
  second++;
  passed = 0
}

inline write_later()
{
#ifdef LATER_DELETED_EARLY
  later = GONE
#else
  later = PLANNED
#endif
}

inline push(n)
{
  node[n].wheel++;
  node[n].own = 1; /* it has read the row itself */
  node[n].at = IDLE
}

#ifdef LATER_NO_EPOCH
#define MAY_CLAIM(n) true
#else
#define MAY_CLAIM(n) HOLDS_EPOCH(n)
#endif
#ifdef LATER_NO_LOOK
#define STILL_WAITS (later == WAITS || (cancelled && later == GONE && row != REMOVED && second == 0))
#else
#define STILL_WAITS (later == WAITS)
#endif

inline claim(n)
{
  d_step {
    node[n].alive && node[n].at == READ && FREE && MAY_CLAIM(n) && STILL_WAITS ->
    write_fire();
#ifdef LATER_APART
    node[n].at = HALF;
    printf("%c writes the planned fire\n", NAME(n))
#else
    write_later();
    push(n);
    printf("%c claims the later row: second %d\n", NAME(n), second)
#endif
  }
}

#ifdef LATER_APART
inline claim_rest(n)
{
  d_step {
    node[n].alive && node[n].at == HALF && FREE && MAY_CLAIM(n) ->
    write_later();
    push(n);
    printf("%c writes the later row\n", NAME(n))
  }
}
#endif

inline claim_nothing(n)
{
  d_step {
    node[n].alive && node[n].at == READ && FREE && MAY_CLAIM(n) && !STILL_WAITS ->
    node[n].at = IDLE;
    printf("%c claims nothing: the row does not wait any more\n", NAME(n))
  }
}

inline claim_fenced(n)
{
  d_step {
    node[n].alive && node[n].at != IDLE && FREE && !MAY_CLAIM(n) ->
    printf("%c is fenced\n", NAME(n));
    forget(n)
  }
}

inline claim_unknown(n)
{
  d_step {
    node[n].alive && node[n].at == READ && FREE && HOLDS_EPOCH(n) && later == WAITS && faults > 0 ->
    faults--;
    limbo = 1;
#ifdef LATER_NO_READ_BACK
    node[n].at = IDLE;
#else
    node[n].at = DOUBT;
#endif
    printf("%c claims the later row; the connection breaks at COMMIT\n", NAME(n))
  }
}

inline end_limbo(committed)
{
  d_step {
    limbo ->
    if
    :: committed -> write_fire(); write_later()
    :: else
    fi;
    limbo = 0;
    printf("the server ends the claim in doubt (committed: %d)\n", committed)
  }
}

inline read_back(n)
{
  d_step {
    node[n].alive && node[n].at == DOUBT && FREE && HOLDS_EPOCH(n) ->
    if
    :: later == PLANNED -> push(n); printf("%c reads back: planned\n", NAME(n))
    :: else -> node[n].at = IDLE; printf("%c reads back: not planned\n", NAME(n))
    fi
  }
}

/* ---- ring and dispatch -------------------------------------------------------------------------------------------- */

#ifdef STOPPED_TAKES_ALL
#define STILL_HAPPENS (!job_stops)
#else
#define STILL_HAPPENS true
#endif

/* The job is read right before: a job that is stopped takes the fires of its schedule along, and no others. */
inline fire(n)
{
  d_step {
    node[n].alive && node[n].wheel > 0 && !IN_HAND(n) ->
    node[n].wheel--;
    if
#ifdef STOPPED_TAKES_ALL
    :: job_stops && HOLDS_EPOCH(n) -> row = REMOVED; printf("%c removes the row: its job is stopped\n", NAME(n))
#endif
    :: STILL_HAPPENS && HOLDS_EPOCH(n) ->
       passed = 1;
       node[n].in_flight = 1;
       node[n].flight_own = node[n].own;
       node[n].flight_second = second;
       printf("%c's cursor passes second %d\n", NAME(n), second)
    :: !HOLDS_EPOCH(n) -> printf("%c drops an entry of an older epoch\n", NAME(n))
    fi
  }
}

inline send(n)
{
  d_step {
    node[n].in_flight ->
    HOLDS(!sent, "BROKEN twice: it is sent a second time\n");
    HOLDS(row != UNKNOWN, "BROKEN after: sent although it has ended as unknown\n");
    HOLDS(node[n].flight_own, "BROKEN own: sent without what it has of its own\n");
    HOLDS(!cancelled, "BROKEN cancelled: sent although it was cancelled\n");
    sent = 1;
    node[n].result = TOOK;
    node[n].result_second = node[n].flight_second;
    node[n].in_flight = 0; node[n].flight_own = 0; node[n].flight_second = 0;
    printf("%c sends it\n", NAME(n))
  }
}

inline find_nobody(n)
{
  d_step {
    node[n].in_flight && away > 0 ->
    away--;
    node[n].result = NOBODY;
    node[n].result_second = node[n].flight_second;
    node[n].in_flight = 0; node[n].flight_own = 0; node[n].flight_second = 0;
    printf("%c reaches no executor\n", NAME(n))
  }
}

inline write_taken(n)
{
  d_step {
    node[n].result == TOOK ->
    row = (row == OPEN -> DONE : row);
    node[n].result = NOTHING; node[n].result_second = 0;
    printf("%c writes that it was taken\n", NAME(n))
  }
}

#ifdef HELD_BY_ANY
#define IS_OF(n) (row == OPEN || row == HELD)
#else
#define IS_OF(n) (row == OPEN && second == node[n].result_second)
#endif
#ifdef HELD_MARKED
#define PUT_BACK row = OPEN /* its mark stays; a takeover finds it behind the cursor */
#else
#define PUT_BACK row = HELD
#endif

/* again: the answer gets lost, and the result is written once more. */
inline write_held(n, again)
{
  d_step {
    node[n].result == NOBODY && (!again || faults > 0) && !node[n].half_held ->
    faults = faults - again;
    if
    :: IS_OF(n) ->
       PUT_BACK;
#ifdef HELD_APART
       node[n].half_held = 1;
       printf("%c writes that it waits\n", NAME(n))
#else
       later = WAITS;
       printf("%c puts it back (the answer gets lost: %d)\n", NAME(n), again)
#endif
    :: else -> printf("%c has nothing to put back\n", NAME(n))
    fi;
    if
    :: again
    :: else -> node[n].result = NOTHING; node[n].result_second = 0
    fi
  }
}

#ifdef HELD_APART
inline write_held_rest(n)
{
  d_step {
    node[n].half_held ->
    later = WAITS;
    node[n].half_held = 0;
    printf("%c writes the later row\n", NAME(n))
  }
}
#endif

/* ---- ends --------------------------------------------------------------------------------------------------------- */

inline end_unknown(n)
{
  d_step {
    node[n].alive && node[n].epoch > 0 && HOLDS_EPOCH(n) && row == OPEN && passed && !IN_HAND(0) && !IN_HAND(1) ->
    HOLDS(later != WAITS, "BROKEN blame: ended as unknown although it waits\n");
    row = UNKNOWN;
    printf("%c ends it as unknown\n", NAME(n))
  }
}

inline sweep()
{
  d_step {
    later == PLANNED && row >= DONE && FREE ->
    later = GONE;
    printf("the later row is deleted: its run has ended\n")
  }
}

inline stop_job()
{
  d_step {
    may_stop > 0 ->
    may_stop = 0;
    job_stops = 1;
    printf("somebody stops the job\n")
  }
}

/* It locks the later row, which a claim in doubt holds. */
inline cancel()
{
  d_step {
    may_cancel > 0 && later == WAITS && FREE ->
    may_cancel = 0;
    cancelled = 1;
    later = GONE;
    row = (row == HELD -> DONE : row);
    printf("somebody cancels it\n")
  }
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

#define STEPS(n) \
  :: take(n) :: crash(n) :: read_later(n) :: claim(n) :: claim_nothing(n) :: claim_fenced(n) :: claim_unknown(n) \
  :: read_back(n) :: fire(n) :: send(n) :: find_nobody(n) :: write_taken(n) :: write_held(n, 0) :: write_held(n, 1) \
  :: end_unknown(n)

#define OWNED ((node[0].alive && node[0].epoch == epoch) || (node[1].alive && node[1].epoch == epoch))

init {
  d_step {
    node[0].alive = 1;
    node[1].alive = 1;
    epoch = 1;
    node[0].epoch = 1 /* the two are alike */
  }
  do
  STEPS(0)
  STEPS(1)
#ifdef LATER_APART
  :: claim_rest(0) :: claim_rest(1)
#endif
#ifdef HELD_APART
  :: write_held_rest(0) :: write_held_rest(1)
#endif
  :: end_limbo(0) :: end_limbo(1) :: sweep() :: stop_job() :: cancel()
  :: else ->
     printf("nothing more happens\n");
     /* Who owned the shard last may be dead, or have let it go: somebody takes it in the end. */
     if
     :: OWNED ->
        HOLDS(later == GONE, "BROKEN open: the later row stays for ever\n");
        HOLDS(cancelled || row == DONE || row == UNKNOWN, "BROKEN open: it has never gone out, or its row stays open\n")
     :: else
     fi;
     break
  od
}
