/* SPDX-License-Identifier: MIT */
/*
 * One shard, two nodes: claim, cursor, takeover, handover, and everything that may go wrong with them.
 *
 * One job with two due times, at seconds 1 and 3. Each node has a schedule thread (src/schedule/shard/shard.c,
 * takeover.c, claim.c) and a ring
 * thread (ring.c, cursors.c, fence.c, wheel.c). Every step below can come at any time after the one before it: that is all that a pause, a
 * slow network or another clock can do. Rings go at their own pace and begin at any second, so clocks may differ by anything.
 * A transaction that holds its locks to the end is one step: the server lets nobody in between, and one whose session dies is
 * none. A COMMIT whose answer is lost stays at the server with its locks, and is carried out or rolled back at any later time;
 * a cursor's UPDATE whose answer is lost is carried out at any later time, or never.
 * ZooKeeper may give a lock away while its owner goes on believing that it has it, and back to it.
 *
 * Each disturbance takes one of FAULTS, a handover one of HANDOVERS. What must hold:
 *   twice    no due time is dispatched twice
 *   after    nothing is dispatched that has ended as "delivery unknown"
 *   hand     what ends as "delivery unknown" was in the hands of whoever moved the cursor over it
 *   blame    nothing ends as "delivery unknown" where nothing but handovers happened
 *   open     when nothing more can happen, a living node owns the shard, every due time is planned, and every row has ended
 *
 * Each rule can be taken out by a -D; `check` has the list. FINE splits a ring's drain from its question for the cursor. EDITS lets
 * somebody read the job at any time and write all of it back later, so that the next due time falls back. He is done, and the owner
 * has looked at the job again, before the cursor comes to what was planned meanwhile: it is planned seconds ahead.
 * FAILOVERS adds a fault: the database goes on without its last commit, where that was a takeover's or a cursor's move. A server
 * that lacks a move is another one: all epochs are raised there before it is used. Only the node that moved knows of the move, so
 * another node may send that fire again; the same node may not.
 * GALERA: several servers that take writes. No lock reaches from one to another, so nobody waits for a claim in doubt; its COMMIT
 * is certified when it is carried out: it fails where another commit, which it has not seen, wrote one of its rows.
 */

#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef HANDOVERS
#define HANDOVERS 1
#endif
#ifndef KINDS
#define KINDS 255
#endif
#define MAY(kind) (faults > 0 && (KINDS & (kind)))
#define EXPIRY 1
#define CRASH 2
#define FALSE_BELIEF 4
#define CLAIM_IN_DOUBT 8
#define MOVE_IN_DOUBT 16
#define TAKEOVER_IN_DOUBT 32
#define UNABLE 64
#define JUMP 128
#define LAST 3 /* the ring's last second, which comes again and again */
#ifndef FIRES
#define FIRES 2
#endif
#if FIRES == 2
#define DUE(d) (1 + 2 * (d))
#define BOTH(a, b) a; b
#define EITHER(a, b) (a | b)
#define EACH(a, b) (a && b)
#else
#define DUE(d) 2
#define BOTH(a, b) a
#define EITHER(a, b) (a)
#define EACH(a, b) (a)
#endif
#define UNLIMITED 15

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define BIT(x) (1 << (x))
#define NAME(n) ('A' + (n))

/* A claim: where it does not hold, its name stands at the end of the interleaving. */
#define HOLDS(condition, name) if :: (condition) :: else -> printf(name); assert(false) fi

/* ---- the database ------------------------------------------------------------------------------------------------- */

#define NONE 0
#define OPEN 1
#define DONE 2
#define UNKNOWN 3

byte shard_epoch, cursor_epoch, cursor;
byte next_due;    /* of the job: which due time nobody has planned yet; 2 after the last */
byte row[FIRES];    /* the log row of a due time */
byte row_due[FIRES];  /* the second in its mark */

#ifdef FAILOVERS
/* The last commit was a takeover's: what it changed, for a failover that loses it. */
bit taken_last;
byte epoch_before, had_before;
/* The last commit was a move of the cursor, from here. */
bit moved_last;
byte cursor_before, last_cursor;
#define COMMITTED taken_last = 0; epoch_before = 0; had_before = 0; moved_last = 0; cursor_before = 0
#else
#define COMMITTED skip
#endif
/* A claim whose COMMIT is on its way; it holds the lock of the shard row. */
bit limbo;
byte limbo_fire, limbo_due;
#ifdef GALERA
byte limbo_epoch;
#define LOCKED false
#ifdef CLAIM_WRITES_NOTHING
#define CERTIFIED (next_due == limbo_fire) /* the job's row alone */
#else
#define CERTIFIED (next_due == limbo_fire && shard_epoch == limbo_epoch)
#endif
#else
#define LOCKED limbo
#define CERTIFIED true
#endif
/* A cursor's UPDATE that is on its way. */
byte late_epoch, late_second;

/* Somebody who edits the job. */
#ifdef EDITS
byte edits = EDITS;
bit edit_open;
byte edit_next; /* what he read */
#define FELL_TO(d, second) ((d) < FIRES -> row[d] != NONE && row_due[d] <= (second) : false)
#define IN_LIMBO(second) (limbo && limbo_due <= (second))
#define TOO_SOON(second) ((edit_open && (FELL_TO(edit_next, second) || IN_LIMBO(second))) || FELL_TO(next_due, second))
#define TOO_LATE(n) (edit_open && edit_next == node[n].fire && node[n].due <= cursor)
#define LEARN(n, d) node[n].known = node[n].known | BIT(d)
#ifdef FORGETS_AT_TAKEOVER
#define LEARN_LOADED(n, d)
#else
#define LEARN_LOADED(n, d) LEARN(n, d)
#endif
#else
#define TOO_SOON(second) false
#define TOO_LATE(n) false
#define LEARN(n, d)
#define LEARN_LOADED(n, d)
#endif
#if defined(EDITS) && !defined(PLANS_AGAIN)
#define IS_KNOWN(n, d) (node[n].known & BIT(d))
#else
#define IS_KNOWN(n, d) false
#endif

/* ---- what only the observer sees ------------------------------------------------------------------------------------ */

byte sent;    /* due times that were dispatched */
byte had;     /* due times whose fire was in hand under the present epoch: its row was written, or loaded */
byte strange; /* open rows that the cursor passed under an epoch that never had them in hand */
#ifdef FAILOVERS
bit forgotten; /* a move was */
#endif
bit faulted;
byte faults = FAULTS, handovers = HANDOVERS;

/* ---- ZooKeeper --------------------------------------------------------------------------------------------------------- */

#define NOBODY 15
byte holder;

/* ---- nodes ------------------------------------------------------------------------------------------------------------- */

/* Where a schedule thread is. */
#define FOREIGN 0  /* it takes over when it has the lock */
#define TAKING 1   /* between the transactions of a takeover that uses two */
#define LOADING 2  /* the epoch is written */
#define LOADED 3   /* the fires beyond the cursor are in the wheel; the ring does not know of the shard yet */
#define OWNED 4
#define CLAIM 5    /* the job was read, the transaction comes */
#define DOUBT 6    /* nobody knows whether the claim was committed */
#define CLAIMED 7  /* committed, not pushed yet */
#define HANDING 8  /* the ring knows the last second */

/* Where a ring thread is in its second. */
#define IDLE 0
#define DRAINED 1
#define ASKED 2 /* for the cursor */
#define MOVED 3 /* it has the answer */

typedef node_state {
  bit alive;
  bit leaving; /* it ends after its handover */
  bit gone;    /* it lost the lock without giving it back, and may not know */

  byte at;
  byte epoch, floor; /* of its takeover */
#ifdef FAILOVERS
  byte highest;      /* epoch that it ever had */
  byte passed;       /* the cursor that it moved last */
  byte mine;         /* due times that it dispatched */
#endif
  byte noted;        /* open rows that were at or before the cursor then */
  byte fire, due;    /* of the claim under way */
  byte final;        /* last second of the handover under way */

  byte ring, next; /* next is 0 while the ring has nothing to do */
  bit listed, fenced;      /* the shard, as the ring sees it */
  byte ring_epoch, upto;
  byte drained; /* FINE: epoch of the shard at the drain */
  byte asked;   /* epoch of the move under way, or 0 */
  bit moved;
#ifdef HANDOVER_BY_CURSOR
  byte reached;
#endif
  byte wheel[FIRES], ready[FIRES]; /* entries of each fire: a bit for the epoch of each */
  byte in_flight;          /* dispatched, result not written */
#ifdef EDITS
  byte known; /* due times that it planned or loaded */
#endif
};
node_state node[2];

#ifdef NO_EPOCH_CHECK
#define EPOCH_HOLDS(n) true
#else
#define EPOCH_HOLDS(n) (shard_epoch == node[n].epoch)
#endif
#ifdef NO_CURSOR_CHECK
#define CURSOR_IS_OF(epoch) true
#else
#define CURSOR_IS_OF(epoch) (cursor_epoch == (epoch))
#endif
#define OTHER_STAYS(n) (node[1 - n].alive && !node[1 - n].leaving)

/* Where a ring without work stands does not matter: the second is chosen when it gets some. */
#define NOTHING_OF(n, d) (!node[n].wheel[d] && !node[n].ready[d])
#define EMPTY(n) EACH(NOTHING_OF(n, 0), NOTHING_OF(n, 1))
inline drop(n, d)
{
  node[n].wheel[d] = 0;
  node[n].ready[d] = 0
}

inline rest(n)
{
  if
  :: !node[n].listed && node[n].ring == IDLE && EMPTY(n) && node[n].at < LOADED ->
     node[n].next = 0; node[n].ring_epoch = 0
  :: else
  fi
}

inline forget(n)
{
  node[n].at = FOREIGN; node[n].epoch = 0; node[n].floor = 0;
  node[n].fire = 0; node[n].due = 0; node[n].final = 0;
  node[n].listed = 0; node[n].fenced = 0; node[n].upto = 0;
#ifdef HANDOVER_BY_CURSOR
  node[n].reached = 0;
#endif
  rest(n)
}

inline end_node(n)
{
  node[n].alive = 0; node[n].leaving = 0; node[n].gone = 0; node[n].noted = 0; node[n].in_flight = 0;
  node[n].ring = IDLE; node[n].asked = 0; node[n].moved = 0; node[n].drained = 0;
#ifdef EDITS
  node[n].known = 0;
#endif
#ifdef FAILOVERS
  node[n].highest = 0; node[n].passed = 0; node[n].mine = 0;
#endif
  BOTH(drop(n, 0), drop(n, 1));
  forget(n);
  if
  :: holder == n -> holder = NOBODY
  :: else
  fi
}

inline disturb()
{
  faults--;
  faulted = 1
}

/* ---- ZooKeeper and crashes ------------------------------------------------------------------------------------------------ */

inline grant(n)
{
  d_step {
    holder == NOBODY && node[n].alive && !node[n].leaving ->
    holder = n;
    printf("%c is granted the lock\n", NAME(n))
  }
}

inline expire(n)
{
  d_step {
    MAY(EXPIRY) && holder == n ->
    disturb();
    holder = NOBODY;
    node[n].gone = 1;
    printf("%c loses the lock and does not know yet\n", NAME(n))
  }
}

inline crash(n)
{
  d_step {
    MAY(CRASH) && node[n].alive && OTHER_STAYS(n) ->
    disturb();
    printf("%c crashes\n", NAME(n));
    end_node(n)
  }
}

/* What it has dispatched ends first. */
#ifdef END_UNSENT
#define IS_QUIET(n) true
#else
#define IS_QUIET(n) (node[n].in_flight == 0 && node[n].ring == IDLE)
#endif
inline leave(n)
{
  d_step {
    node[n].leaving && node[n].at == FOREIGN && IS_QUIET(n) ->
    printf("%c ends\n", NAME(n));
    end_node(n)
  }
}

/* ---- takeover ---------------------------------------------------------------------------------------------------------------- */

inline list(n)
{
  node[n].listed = 1; node[n].fenced = 0; node[n].upto = UNLIMITED;
  node[n].ring_epoch = node[n].epoch;
#ifdef HANDOVER_BY_CURSOR
  node[n].reached = node[n].floor
#endif
}

/* Who still believes that it has the lock raises the epochs too: a disturbance, bounded like all of them. */
#define MAY_TAKE(n) (node[n].alive && !node[n].leaving && node[n].at == FOREIGN && !LOCKED && (holder == n || (node[n].gone && MAY(FALSE_BELIEF))))
#define BEHIND(d) (row[d] == OPEN && row_due[d] <= cursor -> BIT(d) : 0)

inline begin_take(n)
{
  if
  :: holder != n -> disturb()
  :: else -> node[n].gone = 0
  fi;
  node[n].epoch = MAX(shard_epoch, cursor_epoch) + 1;
#ifdef FAILOVERS
#ifndef EPOCH_FROM_DATABASE
  node[n].epoch = MAX(node[n].epoch, node[n].highest + 1);
#endif
  node[n].highest = node[n].epoch;
  COMMITTED;
  if
#ifndef CURSOR_FROM_DATABASE
  :: node[n].passed > cursor -> cursor = node[n].passed
#endif
  :: else -> taken_last = 1; epoch_before = shard_epoch; had_before = had
  fi;
#endif
  assert(node[n].epoch < 8); /* an entry has one bit for each */
  node[n].floor = cursor;
  node[n].noted = EITHER(BEHIND(0), BEHIND(1)); /* they are read later; rows of this epoch or newer are left out then */
  shard_epoch = node[n].epoch
}

#if defined(EPOCHS_ONE_BY_ONE)
inline take(n)
{
  d_step {
    MAY_TAKE(n) ->
    begin_take(n);
    node[n].at = TAKING;
    printf("%c takes over: the shard row has epoch %d, the cursor is %d\n", NAME(n), node[n].epoch, cursor)
  }
}

inline take_cursor(n)
{
  d_step {
    node[n].at == TAKING ->
    cursor_epoch = node[n].epoch;
    had = 0;
    node[n].at = LOADING;
    printf("%c takes over: the cursor row has epoch %d\n", NAME(n), node[n].epoch)
  }
}
#else
#if defined(RING_BEFORE_LOAD)
inline take(n, second)
{
  d_step {
    MAY_TAKE(n) && (node[n].next == 0 || (second) == 1) ->
    node[n].next = (node[n].next == 0 -> second : node[n].next);
#else
inline take(n)
{
  d_step {
    MAY_TAKE(n) ->
#endif
    begin_take(n);
    cursor_epoch = node[n].epoch;
    had = 0;
    node[n].at = LOADING;
#if defined(RING_BEFORE_LOAD)
    list(n);
#endif
    printf("%c takes over: epoch %d, cursor %d\n", NAME(n), node[n].epoch, cursor)
  }
}

inline take_unknown(n)
{
  d_step {
    MAY(TAKEOVER_IN_DOUBT) && holder == n && MAY_TAKE(n) ->
    disturb();
    shard_epoch = MAX(shard_epoch, cursor_epoch) + 1;
    cursor_epoch = shard_epoch;
    had = 0;
    COMMITTED;
    printf("%c raises both epochs to %d and does not hear so\n", NAME(n), shard_epoch)
  }
}
#endif

#ifdef FAILOVERS
/* Both epochs were equal before, and nothing else was written since. */
inline failover()
{
  d_step {
    faults > 0 && taken_last ->
    disturb();
    shard_epoch = epoch_before;
    cursor_epoch = epoch_before;
    had = had_before;
    COMMITTED;
    printf("the database fails over and does not know of the last takeover: both epochs are %d\n", shard_epoch)
  }
}

/* The server that comes next is raised before it is used. */
inline failover_of_move()
{
  d_step {
    faults > 0 && moved_last && !limbo && !late_epoch ->
    disturb();
    cursor = cursor_before;
    shard_epoch = MAX(shard_epoch, cursor_epoch) + 1;
    cursor_epoch = shard_epoch;
    had = 0;
    forgotten = 1;
    COMMITTED;
    printf("the database fails over and forgets the last move: cursor %d, both epochs %d\n", cursor, shard_epoch)
  }
}
#endif

#ifdef LOADS_UP_TO
#define IS_LOADED(n, d) (row[d] == OPEN && row_due[d] > node[n].floor && row_due[d] <= node[n].floor + LOADS_UP_TO)
#else
#define IS_LOADED(n, d) (row[d] == OPEN && row_due[d] > node[n].floor)
#endif
inline load_fire(n, d)
{
  if
  :: IS_LOADED(n, d) ->
#ifdef FAILOVERS
     HOLDS(!((node[n].wheel[d] | node[n].ready[d]) & BIT(node[n].epoch)), "BROKEN twice: loaded under an epoch under which it waits already\n");
#endif
     node[n].wheel[d] = node[n].wheel[d] | BIT(node[n].epoch);
     had = had | (node[n].epoch == cursor_epoch -> BIT(d) : 0);
     LEARN_LOADED(n, d);
     printf("%c loads the fire of second %d\n", NAME(n), row_due[d])
  :: else
  fi
}

inline load(n, second)
{
  d_step {
    node[n].at == LOADING && (node[n].next == 0 || (second) == 1) ->
    node[n].next = (node[n].next == 0 -> second : node[n].next);
    BOTH(load_fire(n, 0), load_fire(n, 1));
    node[n].at = LOADED;
    printf("%c has read what is beyond the cursor\n", NAME(n))
  }
}

inline own(n)
{
  d_step {
    node[n].at == LOADED ->
#ifndef RING_BEFORE_LOAD
    list(n);
#endif
    node[n].at = OWNED;
    printf("%c owns the shard; its ring is at second %d\n", NAME(n), node[n].next)
  }
}

/* With an old epoch the next claim can only be refused, so it is not begun in the model. */
inline lose(n)
{
  d_step {
    node[n].at == OWNED && (node[n].gone || node[n].fenced || !EPOCH_HOLDS(n)) ->
    printf("%c lets the shard go\n", NAME(n));
    forget(n)
  }
}

/* Forty seconds after the takeover. That nobody can send it by then is what deadline.pml is about. */
#define MAY_STILL_GO(n, d) ((node[n].in_flight & BIT(d)) || (node[n].ring == MOVED && node[n].moved && node[n].ready[d]))
inline end_unknown(n, d)
{
  d_step {
    node[n].at == OWNED && (node[n].noted & BIT(d)) && !MAY_STILL_GO(0, d) && !MAY_STILL_GO(1, d) ->
    node[n].noted = node[n].noted & ~BIT(d);
    if
    :: row[d] == OPEN ->
       row[d] = UNKNOWN;
       COMMITTED;
       printf("%c ends the row of second %d as unknown\n", NAME(n), row_due[d]);
#ifndef SKIP_HAND
       HOLDS(!(strange & BIT(d)), "BROKEN hand: ended as unknown although nobody could have sent it\n");
#endif
       HOLDS(faulted, "BROKEN blame: ended as unknown although nobody failed\n")
    :: else
    fi
  }
}

/* ---- claim --------------------------------------------------------------------------------------------------------------------- */

#define MAY_CLAIM(n) (node[n].at == CLAIM && !LOCKED && EPOCH_HOLDS(n))

/* What is due at once goes to the second after the one that the ring has passed. */
inline read_job(n)
{
  d_step {
    node[n].at == OWNED && next_due < FIRES && EPOCH_HOLDS(n) ->
    node[n].fire = next_due;
    node[n].due = MAX(DUE(next_due), MIN(MAX(node[n].next, node[n].floor + 1), LAST));
    node[n].at = CLAIM;
    printf("%c reads the job: due time %d goes to second %d\n", NAME(n), DUE(next_due), node[n].due)
  }
}

inline write_claim(d, second)
{
  row[d] = OPEN;
  row_due[d] = second;
  next_due = d + 1;
  COMMITTED
}

inline end_claim(n)
{
  node[n].fire = 0; node[n].due = 0; node[n].at = OWNED
}

inline claim(n)
{
  d_step {
    MAY_CLAIM(n) && next_due == node[n].fire && !IS_KNOWN(n, next_due) && !TOO_LATE(n) ->
#ifdef EDITS
    HOLDS(row[next_due] == NONE, "BROKEN twice: a due time is planned a second time\n");
#endif
    LEARN(n, node[n].fire);
    had = had | (node[n].epoch == cursor_epoch -> BIT(node[n].fire) : 0);
    write_claim(node[n].fire, node[n].due);
    node[n].at = CLAIMED;
    printf("%c claims: row of second %d, job advanced\n", NAME(n), node[n].due)
  }
}

#ifdef EDITS
/* The next due time has fallen back behind what was planned: the job is advanced and nothing else. */
inline move_on(n)
{
  d_step {
    MAY_CLAIM(n) && next_due == node[n].fire && IS_KNOWN(n, next_due) ->
    next_due++;
    end_claim(n);
    printf("%c moves the job on to due time %d\n", NAME(n), next_due)
  }
}

inline begin_edit()
{
  d_step {
    edits > 0 && next_due < FIRES && !IN_LIMBO(cursor) ->
    edits--;
    edit_open = 1;
    edit_next = next_due;
    printf("somebody reads the job: due time %d is next\n", next_due)
  }
}

/* It waits for the job's row, which a claim in doubt holds. */
inline end_edit()
{
  d_step {
    edit_open && !limbo ->
    next_due = edit_next;
    edit_open = 0;
    edit_next = 0;
    printf("he writes the job: due time %d is next\n", next_due)
  }
}
#endif

inline claim_changed(n)
{
  d_step {
    MAY_CLAIM(n) && next_due != node[n].fire ->
    end_claim(n)
  }
}

inline claim_unknown(n)
{
  d_step {
    MAY(CLAIM_IN_DOUBT) && !limbo && MAY_CLAIM(n) && next_due == node[n].fire && !IS_KNOWN(n, next_due) && !TOO_LATE(n) ->
    disturb();
    had = had | (node[n].epoch == cursor_epoch -> BIT(node[n].fire) : 0);
    limbo = 1;
    limbo_fire = node[n].fire;
    limbo_due = node[n].due;
#ifdef GALERA
    limbo_epoch = node[n].epoch;
#endif
    printf("%c claims second %d; the connection breaks at COMMIT\n", NAME(n), node[n].due);
#ifdef NO_READ_BACK
    end_claim(n)
#else
    node[n].at = DOUBT
#endif
  }
}

inline claim_fenced(n)
{
  d_step {
    (node[n].at == CLAIM || node[n].at == DOUBT) && !LOCKED && !EPOCH_HOLDS(n) ->
    printf("%c's claim finds epoch %d and lets the shard go\n", NAME(n), shard_epoch);
    forget(n)
  }
}

inline end_doubt()
{
#ifdef GALERA
  limbo_epoch = 0;
#endif
  limbo = 0; limbo_fire = 0; limbo_due = 0
}

inline end_limbo(committed)
{
  d_step {
    limbo && (!(committed) || CERTIFIED) ->
    if
    :: committed -> write_claim(limbo_fire, limbo_due)
    :: else
    fi;
    end_doubt();
    printf("the server ends the claim in doubt (committed: %d)\n", committed)
  }
}

/* Reading back waits for the shard row, so by then the commit in doubt has happened or never will. */
inline read_back(n)
{
  d_step {
#ifdef READ_BACK_WITHOUT_LOCK
    node[n].at == DOUBT && EPOCH_HOLDS(n) ->
#else
    node[n].at == DOUBT && EPOCH_HOLDS(n) && !LOCKED ->
#endif
#if defined(GALERA) && !defined(READ_BACK_WITHOUT_LOCK)
    if /* it writes the row, and commits: what is in doubt still cannot be carried out behind that */
    :: limbo -> end_doubt()
    :: else
    fi;
#endif
    if
    :: row[node[n].fire] != NONE -> node[n].at = CLAIMED; LEARN(n, node[n].fire); printf("%c reads back: committed\n", NAME(n))
    :: else -> end_claim(n); printf("%c reads back: not committed\n", NAME(n))
    fi
  }
}

inline give_up_reading_back(n)
{
  d_step {
    node[n].at == DOUBT ->
    printf("%c cannot read back and lets the shard go\n", NAME(n));
    forget(n)
  }
}

inline push(n)
{
  d_step {
    node[n].at == CLAIMED ->
    node[n].wheel[node[n].fire] = node[n].wheel[node[n].fire] | BIT(node[n].epoch);
    printf("%c pushes the fire of second %d\n", NAME(n), node[n].due);
    end_claim(n)
  }
}

/* ---- handover ------------------------------------------------------------------------------------------------------------------ */

inline set_limit(n)
{
#ifndef RING_GOES_ON
  node[n].upto = node[n].final;
#endif
  node[n].at = HANDING
}

/* Only where the model has seconds enough. The ring may be in the middle of the next one: the one after it is the first that
 * surely comes after all pushes. */
inline begin_handover(n, to_leave)
{
  d_step {
    handovers > 0 && node[n].at == OWNED && holder == n && !node[n].gone && !node[n].fenced && node[n].next + 1 <= LAST &&
      OTHER_STAYS(n) ->
    handovers--;
    node[n].leaving = to_leave;
    node[n].final = node[n].next + 1;
    printf("%c is to hand over (and to end: %d); the last second is %d\n", NAME(n), to_leave, node[n].final);
    set_limit(n)
  }
}

#if defined(HANDOVER_BY_CURSOR)
#define RING_IS_THROUGH(n) (node[n].reached >= node[n].final)
#elif defined(RELEASE_AT_ONCE)
#define RING_IS_THROUGH(n) true
#else
#define RING_IS_THROUGH(n) (node[n].next > node[n].final) /* the step of the last second has ended, or was passed over */
#endif
inline release(n)
{
  if
  :: holder == n && !node[n].gone -> holder = NOBODY
  :: else /* lost meanwhile: if it came back, that is another grant */
  fi;
  printf("%c gives the lock back\n", NAME(n));
  forget(n)
}

inline hand_over(n)
{
  d_step {
    node[n].at == HANDING && (node[n].fenced || RING_IS_THROUGH(n)) ->
    release(n)
  }
}

/* The database cannot be written to: what the ring has done already is the end. */
inline hand_over_unable(n)
{
  d_step {
    MAY(UNABLE) && node[n].at == HANDING ->
    disturb();
    printf("%c cannot write\n", NAME(n));
    release(n)
  }
}

/* ---- dispatch -------------------------------------------------------------------------------------------------------------------- */

/* From here on it may reach its executor at any moment. */
inline dispatch(n, d)
{
  printf("%c dispatches the fire of second %d\n", NAME(n), row_due[d]);
#ifdef FAILOVERS
  HOLDS(!(sent & BIT(d)) || (forgotten && !(node[n].mine & BIT(d))), "BROKEN twice: a due time is dispatched a second time\n");
  node[n].mine = node[n].mine | BIT(d);
#else
  HOLDS(!(sent & BIT(d)), "BROKEN twice: a due time is dispatched a second time\n");
#endif
  HOLDS(row[d] != UNKNOWN, "BROKEN after: dispatched although it has ended as unknown\n");
  sent = sent | BIT(d);
  node[n].in_flight = node[n].in_flight | BIT(d)
}

inline end_flight(n, d)
{
  d_step {
    node[n].in_flight & BIT(d) ->
    node[n].in_flight = node[n].in_flight & ~BIT(d);
    HOLDS(row[d] != UNKNOWN, "BROKEN after: dispatched although it has ended as unknown\n");
    row[d] = DONE;
    COMMITTED;
    printf("%c writes the result of second %d\n", NAME(n), row_due[d])
  }
}

/* ---- ring ------------------------------------------------------------------------------------------------------------------------ */

#define SECOND(n) MIN(node[n].next, LAST)
#define LOWER(epoch) (BIT(epoch) - 1)
#define HIGHER(epoch) (255 & ~(LOWER(epoch) | BIT(epoch)))
#define SAME(epoch, condition) ((condition) -> BIT(epoch) : 0)

#ifdef NEWER_ARE_DROPPED
#define NEWER(epoch) 0
#else
#define NEWER(epoch) HIGHER(epoch)
#endif

/* fence_before_move: what no shard of ours will send any more goes at once. */
inline drain_fire(n, d)
{
  if
  :: node[n].wheel[d] && row_due[d] <= SECOND(n) ->
     node[n].ready[d] = node[n].ready[d] | node[n].wheel[d];
     node[n].wheel[d] = 0
  :: else
  fi;
#ifndef OLDER_ARE_SENT
  node[n].ready[d] = node[n].ready[d] & (NEWER(node[n].ring_epoch) | SAME(node[n].ring_epoch, node[n].listed && !node[n].fenced))
#endif
}

/* fence_after_move: entries of the moved epoch are sent, older ones dropped, newer ones put back. */
inline hand_to_dispatch(n, d)
{
  if
  :: node[n].moved && (node[n].ready[d] & BIT(node[n].asked)) -> dispatch(n, d)
  :: else
  fi;
#ifdef OLDER_ARE_SENT
  if
  :: node[n].moved && (node[n].ready[d] & LOWER(node[n].asked)) -> dispatch(n, d)
  :: else
  fi;
#endif
  node[n].wheel[d] = node[n].wheel[d] |
    (node[n].ready[d] & (node[n].asked -> NEWER(node[n].asked) : 255) &
     (NEWER(node[n].ring_epoch) | SAME(node[n].ring_epoch, node[n].listed && !node[n].fenced && SECOND(n) <= node[n].upto)));
  node[n].ready[d] = 0
}

inline end_second(n)
{
  BOTH(hand_to_dispatch(n, 0), hand_to_dispatch(n, 1));
  if
  :: node[n].asked && node[n].listed && node[n].ring_epoch == node[n].asked ->
#ifdef HANDOVER_BY_CURSOR
     node[n].reached = (node[n].moved -> MAX(node[n].reached, SECOND(n)) : node[n].reached);
#endif
     node[n].fenced = !node[n].moved
  :: else
  fi;
  node[n].next = SECOND(n) + 1;
  node[n].asked = 0; node[n].moved = 0; node[n].ring = IDLE;
  rest(n)
}

/* There is a second to come, or the last one has something to do again. */
#define GOES_ON(n) (node[n].next != 0 && (node[n].next <= LAST || !EMPTY(n) || \
                    (node[n].listed && (cursor < LAST || node[n].ring_epoch != cursor_epoch))))
#define BLOCKED(n) (node[n].next > LAST && node[n].listed && (node[n].fenced || node[n].upto < LAST))

/* A shard that came after the drain waits for the next second: its fires of this one may still be in the wheel. */
#ifdef FINE
#define CAME_BEFORE_DRAIN(n) (node[n].drained == node[n].ring_epoch)
#else
#define CAME_BEFORE_DRAIN(n) true
#endif
#define MAY_ASK(n) (node[n].listed && !node[n].fenced && SECOND(n) <= node[n].upto && CAME_BEFORE_DRAIN(n))
inline ask(n)
{
  if
  :: MAY_ASK(n) && !CURSOR_IS_OF(node[n].ring_epoch) ->
     /* The move can only be refused: in one step. */
     node[n].asked = node[n].ring_epoch;
     end_second(n)
  :: MAY_ASK(n) && CURSOR_IS_OF(node[n].ring_epoch) ->
     node[n].asked = node[n].ring_epoch;
     node[n].ring = ASKED
  :: else -> end_second(n)
  fi
}

/* A ring that has lost the shard goes on, and drops what it still has sooner or later: one step instead of one per second.
 * With a takeover under way it goes on second by second, but the last one waits, which would only put back again and again. */
#define STRAYS(n) (!node[n].listed && (node[n].at != LOADED || node[n].next > LAST))
inline drop_strays(n)
{
  d_step {
    node[n].ring == IDLE && !node[n].listed && node[n].at == FOREIGN && !EMPTY(n) ->
    BOTH(drop(n, 0), drop(n, 1));
    rest(n)
  }
}

inline drain(n)
{
  d_step {
    node[n].ring == IDLE && GOES_ON(n) && !BLOCKED(n) && !STRAYS(n) ->
    BOTH(drain_fire(n, 0), drain_fire(n, 1));
#ifdef FINE
    node[n].drained = (node[n].listed -> node[n].ring_epoch : 0);
    node[n].ring = DRAINED
#else
    ask(n)
#endif
  }
}

inline ask_later(n)
{
  d_step {
    node[n].ring == DRAINED ->
    ask(n);
    node[n].drained = 0
  }
}

/* After a stall the ring jumps: seconds are passed over, their fires go out with the next one. */
inline jump(n)
{
  d_step {
    MAY(JUMP) && node[n].ring == IDLE && node[n].next != 0 && node[n].next < LAST ->
    disturb();
    node[n].next = LAST;
    printf("%c's ring jumps to second %d\n", NAME(n), LAST)
  }
}

#ifdef CURSOR_MAY_FALL
#define FURTHER(second) (second)
#else
#define FURTHER(second) MAX(cursor, second)
#endif
/* Open rows that a move passes and that were never in hand under this epoch. */
#define STRANGE(d, second) (row[d] == OPEN && row_due[d] > cursor && row_due[d] <= (second) && !(had & BIT(d)) -> BIT(d) : 0)
#define WRITE_CURSOR(second) \
  strange = strange | EITHER(STRANGE(0, second), STRANGE(1, second)); \
  cursor = FURTHER(second); \
  COMMITTED

inline move(n)
{
  d_step {
    node[n].ring == ASKED && !TOO_SOON(SECOND(n)) ->
    if
    :: CURSOR_IS_OF(node[n].asked) ->
#ifdef FAILOVERS
       last_cursor = cursor;
       WRITE_CURSOR(SECOND(n));
       node[n].passed = MAX(node[n].passed, SECOND(n));
       moved_last = (cursor > last_cursor); cursor_before = (cursor > last_cursor -> last_cursor : 0);
       last_cursor = 0;
#else
       WRITE_CURSOR(SECOND(n));
#endif
       node[n].moved = 1;
       printf("%c's ring moves to second %d under epoch %d: the cursor is %d\n", NAME(n), SECOND(n), node[n].asked, cursor)
    :: else -> printf("%c's ring is refused second %d: epoch %d is over\n", NAME(n), SECOND(n), node[n].asked)
    fi;
    node[n].ring = MOVED
  }
}

/* The connection breaks under the statement: the ring asks again, while the first one may come at any time. */
inline move_unknown(n)
{
  d_step {
    MAY(MOVE_IN_DOUBT) && node[n].ring == ASKED && late_epoch == 0 ->
    disturb();
    late_epoch = node[n].asked;
    late_second = SECOND(n);
    node[n].asked = 0;
    node[n].ring = IDLE;
    printf("%c's ring asks for second %d; the connection breaks\n", NAME(n), SECOND(n));
    rest(n)
  }
}

inline move_late(arrives)
{
  d_step {
    late_epoch && !TOO_SOON(late_second) ->
    if
    :: arrives && CURSOR_IS_OF(late_epoch) -> WRITE_CURSOR(late_second); printf("a late statement: the cursor is %d\n", cursor)
    :: else
    fi;
    late_epoch = 0; late_second = 0
  }
}

inline finish(n)
{
  d_step {
    node[n].ring == MOVED ->
    end_second(n)
  }
}

/* ---- all of it -------------------------------------------------------------------------------------------------------------------- */

#define SETTLED(n) (node[n].alive && holder == n && node[n].at == OWNED && node[n].listed && !node[n].fenced && \
                    node[n].ring_epoch == shard_epoch && node[n].ring_epoch == cursor_epoch)
#define ENDED(d) (row[d] == UNKNOWN || (row[d] == DONE && (sent & BIT(d))))

#define STEPS(n) \
  :: grant(n) :: expire(n) :: crash(n) :: leave(n) \
  :: load(n, 1) :: load(n, LAST) :: own(n) :: lose(n) :: end_unknown(n, 0) \
  :: read_job(n) :: claim(n) :: claim_changed(n) :: claim_unknown(n) :: claim_fenced(n) :: read_back(n) \
  :: give_up_reading_back(n) :: push(n) \
  :: begin_handover(n, 0) :: begin_handover(n, 1) :: hand_over(n) :: hand_over_unable(n) \
  :: drain(n) :: drop_strays(n) :: ask_later(n) :: jump(n) :: move(n) :: move_unknown(n) :: finish(n) :: end_flight(n, 0)

init {
  d_step {
    node[0].alive = 1;
    node[1].alive = 1;
    holder = 0 /* the two are alike */
  }
  do
  STEPS(0)
  STEPS(1)
#ifdef FAILOVERS
  :: failover() :: failover_of_move()
#endif
#if FIRES == 2
  :: end_unknown(0, 1) :: end_unknown(1, 1) :: end_flight(0, 1) :: end_flight(1, 1)
#endif
#if defined(EPOCHS_ONE_BY_ONE)
  :: take(0) :: take(1) :: take_cursor(0) :: take_cursor(1)
#elif defined(RING_BEFORE_LOAD)
  :: take(0, 1) :: take(0, LAST) :: take(1, 1) :: take(1, LAST)
  :: take_unknown(0) :: take_unknown(1)
#else
  :: take(0) :: take(1) :: take_unknown(0) :: take_unknown(1)
#endif
#ifdef EDITS
  :: begin_edit() :: end_edit() :: move_on(0) :: move_on(1)
#endif
  :: end_limbo(0) :: end_limbo(1) :: move_late(0) :: move_late(1)
  :: else ->
     printf("nothing more happens; the cursor is %d\n", cursor);
     HOLDS(SETTLED(0) || SETTLED(1), "BROKEN open: nobody owns the shard for ever\n");
     HOLDS(next_due == FIRES, "BROKEN open: a due time is never planned\n");
     HOLDS(EACH(ENDED(0), ENDED(1)), "BROKEN open: a row stays open for ever\n");
     break
  od
}
