/* SPDX-License-Identifier: MIT */
/*
 * The number of shards goes from two to one. Two jobs, one due time each, at second 2; job j is in shard j % N.
 *
 * Owners 0 and 1 have shards 0 and 1. Owner 3 may take shard 1 at any time, with the N that it read when it started. When the
 * change is asked for, with a last second L, each owner hears of it some time: it plans no more and its ring stops at L. It may
 * also grow tired of that and go on. Then one transaction changes everything. After it owner 2 takes shard 0 of one shard.
 * Takeover and load are one step here, dispatch is the end of a fire: shard.pml looks at these closely.
 *
 * What must hold:
 *   twice    no fire is dispatched twice
 *   after    none is dispatched that has ended as "delivery unknown"
 *   blame    none ends as "delivery unknown" unless an owner crashed
 *   open     when nothing more can happen, every row has ended
 *
 * Rules, each of which can be taken out by a -D:
 *   ANY_CURSOR      the change is made only when every cursor is exactly L
 *   EPOCHS_STAY     it raises every epoch
 *   N_FROM_MEMORY   a takeover compares N in its transaction
 */

#define DUE 2
#define LAST 3
#define UNLIMITED 15
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define BIT(x) (1 << (x))

byte shards = 2;
byte cursor[2], epoch[2];

#define NONE 0
#define OPEN 1
#define DONE 2
#define UNKNOWN 3
byte row[2], row_due[2];

byte wanted; /* L, while the change is asked for */
bit asked_for;

byte sent;
bit crashed;

#define AWAY 0
#define OWNED 1
#define GONE 2
#define IDLE 0
#define ASKED 1
#define MOVED 2
typedef owner_state {
  byte at, epoch;
  byte upto;    /* the ring's last second, UNLIMITED while nothing is asked */
  byte next, ring;
  bit moved;
  byte wheel, noted; /* a bit for each job */
};
owner_state owner[4];

#define SHARD(o) ((o) % 2)
#define JOBS(o) ((o) == 2 -> 3 : BIT(SHARD(o)))
#define SECOND(o) MIN(owner[o].next, LAST)

inline let_go(o)
{
  owner[o].at = GONE; owner[o].epoch = 0; owner[o].upto = 0; owner[o].next = 0; owner[o].ring = IDLE; owner[o].moved = 0;
  owner[o].wheel = 0; owner[o].noted = 0
}

#define BEYOND(o, j) ((JOBS(o) & BIT(j)) && row[j] == OPEN && row_due[j] > cursor[SHARD(o)] -> BIT(j) : 0)
#define BEHIND(o, j) ((JOBS(o) & BIT(j)) && row[j] == OPEN && row_due[j] <= cursor[SHARD(o)] -> BIT(j) : 0)
#ifdef N_FROM_MEMORY
#define N_IS_RIGHT(o) ((o) != 2 || shards == 1)
#else
#define N_IS_RIGHT(o) (shards == ((o) == 2 -> 1 : 2))
#endif
inline take(o)
{
  d_step {
    owner[o].at == AWAY && N_IS_RIGHT(o) ->
    epoch[SHARD(o)]++;
    owner[o].epoch = epoch[SHARD(o)];
    owner[o].at = OWNED;
    owner[o].next = 1;
    owner[o].upto = UNLIMITED;
    owner[o].wheel = BEYOND(o, 0) | BEYOND(o, 1);
    owner[o].noted = BEHIND(o, 0) | BEHIND(o, 1);
    printf("owner %d takes shard %d: epoch %d, cursor %d\n", o, SHARD(o), epoch[SHARD(o)], cursor[SHARD(o)])
  }
}

inline plan(o, j)
{
  d_step {
    owner[o].at == OWNED && (JOBS(o) & BIT(j)) && row[j] == NONE && owner[o].upto == UNLIMITED && epoch[SHARD(o)] == owner[o].epoch ->
    row[j] = OPEN;
    row_due[j] = MAX(DUE, MIN(MAX(owner[o].next, cursor[SHARD(o)] + 1), LAST));
    owner[o].wheel = owner[o].wheel | BIT(j);
    printf("owner %d plans job %d for second %d\n", o, j, row_due[j])
  }
}

inline hold(o)
{
  d_step {
    owner[o].at == OWNED && o != 2 && wanted && owner[o].upto == UNLIMITED ->
    owner[o].upto = wanted;
    printf("owner %d stops planning and goes up to second %d\n", o, wanted)
  }
}

inline go_on(o)
{
  d_step {
    owner[o].at == OWNED && owner[o].upto != UNLIMITED ->
    owner[o].upto = UNLIMITED;
    printf("owner %d waits no longer\n", o)
  }
}

#define HAS_WORK(o) (owner[o].next <= LAST || owner[o].wheel || owner[o].epoch != epoch[SHARD(o)])
inline ask(o)
{
  d_step {
    owner[o].at == OWNED && owner[o].ring == IDLE && SECOND(o) <= owner[o].upto && HAS_WORK(o) ->
    owner[o].ring = ASKED
  }
}

inline move(o)
{
  d_step {
    owner[o].at == OWNED && owner[o].ring == ASKED ->
    if
    :: epoch[SHARD(o)] == owner[o].epoch ->
       cursor[SHARD(o)] = MAX(cursor[SHARD(o)], SECOND(o));
       owner[o].ring = MOVED;
       printf("owner %d moves the cursor of shard %d to %d\n", o, SHARD(o), cursor[SHARD(o)])
    :: else -> printf("owner %d is refused\n", o); let_go(o)
    fi
  }
}

inline dispatch(o, j)
{
  if
  :: (owner[o].wheel & BIT(j)) && row_due[j] <= SECOND(o) ->
     printf("owner %d dispatches the fire of job %d\n", o, j);
     assert(!(sent & BIT(j)));  /* twice */
     assert(row[j] != UNKNOWN); /* after */
     sent = sent | BIT(j);
     row[j] = DONE;
     owner[o].wheel = owner[o].wheel & ~BIT(j)
  :: else
  fi
}

inline finish(o)
{
  d_step {
    owner[o].ring == MOVED ->
    dispatch(o, 0);
    dispatch(o, 1);
    owner[o].next = SECOND(o) + 1;
    owner[o].ring = IDLE
  }
}

#define MAY_STILL_GO(o, j) (owner[o].ring == MOVED && (owner[o].wheel & BIT(j)) && row_due[j] <= SECOND(o))
inline end_unknown(o, j)
{
  d_step {
    owner[o].at == OWNED && (owner[o].noted & BIT(j)) && !MAY_STILL_GO(0, j) && !MAY_STILL_GO(1, j) && !MAY_STILL_GO(2, j) &&
      !MAY_STILL_GO(3, j) ->
    owner[o].noted = owner[o].noted & ~BIT(j);
    if
    :: row[j] == OPEN -> row[j] = UNKNOWN; printf("owner %d ends job %d's row as unknown\n", o, j); assert(crashed) /* blame */
    :: else
    fi
  }
}

inline want(last)
{
  d_step {
    !asked_for ->
    asked_for = 1;
    wanted = last;
    printf("one shard is asked for, the last second is %d\n", last)
  }
}

#ifdef ANY_CURSOR
#define MAY_CHANGE true
#else
#define MAY_CHANGE (cursor[0] == wanted && cursor[1] == wanted)
#endif
inline change()
{
  d_step {
    wanted && MAY_CHANGE ->
    shards = 1;
    cursor[0] = wanted;
    cursor[1] = wanted;
#ifndef EPOCHS_STAY
    epoch[0] = MAX(epoch[0], epoch[1]) + 1;
    epoch[1] = epoch[0];
#endif
    printf("there is one shard, its cursor is %d\n", wanted);
    wanted = 0
  }
}

inline withdraw()
{
  d_step {
    wanted ->
    wanted = 0;
    printf("the change is called off\n")
  }
}

inline crash()
{
  d_step {
    owner[1].at == OWNED && !crashed ->
    crashed = 1;
    printf("owner 1 crashes\n");
    let_go(1)
  }
}

#define ENDED(j) (row[j] == UNKNOWN || (row[j] == DONE && (sent & BIT(j))))
#define STEPS(o) \
  :: take(o) :: plan(o, 0) :: plan(o, 1) :: hold(o) :: go_on(o) :: ask(o) :: move(o) :: finish(o) :: end_unknown(o, 0) \
  :: end_unknown(o, 1)

init {
  d_step {
    owner[0].at = OWNED; owner[0].epoch = 1; owner[0].next = 1; owner[0].upto = UNLIMITED; epoch[0] = 1;
    owner[1].at = OWNED; owner[1].epoch = 1; owner[1].next = 1; owner[1].upto = UNLIMITED; epoch[1] = 1
  }
  do
  STEPS(0)
  STEPS(1)
  STEPS(2)
  STEPS(3)
  :: want(1) :: want(2) :: change() :: withdraw() :: crash()
  :: else ->
     printf("nothing more happens: there are %d shards\n", shards);
     assert(ENDED(0) && ENDED(1)); /* open */
     break
  od
}
