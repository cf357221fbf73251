/* SPDX-License-Identifier: MIT */
/*
 * One fire whose node went away: sent, or ended as "delivery unknown", and which of them counts. Time passes in units of 5 s.
 *
 * The old owner moves the cursor, looks at the clock right before it writes to the executor, writes, and records the result. It may
 * stand still at any point, and its machine may be suspended; between that last look and the write, for less than 20 s (the limit
 * that users are told of). The new owner takes over at any time after the cursor's move, and ends the row 40 s later.
 *
 * What must hold:
 *   after     nothing is sent once the row has ended as "delivery unknown", which is when the job's retry goes out
 *   changed   a row that has ended stays as it is
 *
 * Rules, each of which can be taken out by a -D:
 *   NO_DEADLINE         the old owner sends no later than 20 s after it asked for the cursor's move
 *   DEADLINE_AFTER      counted from before that statement, not from its answer
 *   CLOCK_STANDS_STILL  on a clock that counts while the machine is suspended
 *   EARLY_UNKNOWN       the new owner ends the row no earlier than 40 s after its takeover
 *   RESULT_OVERWRITES   a result is written only where trigger_code = 0
 *   UNKNOWN_OVERWRITES  and so is "delivery unknown"
 */

#define DEADLINE 4 /* units of 5 s */
#define PAUSE 4    /* between the last look and the write less than this */
#ifdef EARLY_UNKNOWN
#define UNKNOWN_AFTER 4
#else
#define UNKNOWN_AFTER 8
#endif
#define TOP 31

#define OPEN 0
#define RESULT 1
#define UNKNOWN 2
byte row;

/* Ages, in units; TOP: long ago. */
byte asked, answered; /* since the old owner asked for the move, and had the answer */
byte looked;          /* since its last look at the clock */
byte taken;           /* since the takeover */

#define ASKING 0
#define ASKED 1
#define MOVED 2
#define LOOKED 3
#define SENT 4
#define ENDED 5
byte old;
bit cursor_moved;

#define ABSENT 0
#define OWNER 1
#define DONE 2
byte new;
bit noted; /* the row was open at the takeover */

bit sent;

#define OLDER(age) ((age) < TOP -> (age) + 1 : (age))
#ifdef DEADLINE_AFTER
#define AGE answered
#else
#define AGE asked
#endif
#ifdef NO_DEADLINE
#define IN_TIME true
#else
#define IN_TIME (AGE <= DEADLINE)
#endif

inline pass(by_clock)
{
  asked = (old >= ASKED && old < LOOKED && by_clock -> OLDER(asked) : asked);
  answered = (old == MOVED && by_clock -> OLDER(answered) : answered);
  looked = (old == LOOKED -> looked + 1 : 0);
  taken = (new == OWNER -> OLDER(taken) : taken)
}

init {
  do
  /* A stop between the last look and the write is shorter than PAUSE. */
  :: d_step { !(old == LOOKED && looked + 1 >= PAUSE) -> pass(1); printf("5 s pass\n") }
#ifdef CLOCK_STANDS_STILL
  :: d_step { !(old == LOOKED && looked + 1 >= PAUSE) -> pass(0); printf("5 s pass while the old owner is suspended\n") }
#endif

  :: d_step { old == ASKING -> old = ASKED; printf("the old owner asks for the cursor\n") }
  :: d_step { old == ASKED && !cursor_moved && new == ABSENT -> cursor_moved = 1; printf("the cursor moves\n") }
  :: d_step { old == ASKED && !cursor_moved && new != ABSENT -> old = ENDED; printf("the old owner is refused\n") }
  :: d_step { old == ASKED && cursor_moved -> old = MOVED; printf("the old owner has the answer\n") }
  :: d_step {
       old == MOVED ->
       if
       :: IN_TIME -> old = LOOKED; printf("it is not too late\n")
       :: else -> old = SENT; printf("too late: not sent\n")
       fi;
       asked = 0; answered = 0
     }
  :: d_step {
       old == LOOKED ->
       assert(row != UNKNOWN); /* after */
       sent = 1;
       old = SENT;
       looked = 0;
       printf("the old owner sends\n")
     }
  :: d_step {
       old == SENT ->
       old = ENDED;
#ifdef RESULT_OVERWRITES
       if
       :: true ->
#else
       if
       :: row == OPEN ->
#endif
          assert(row == OPEN); /* changed */
          row = RESULT;
          printf("the old owner writes what came of it\n")
#ifndef RESULT_OVERWRITES
       :: else
#endif
       fi
     }

  :: d_step {
       new == ABSENT ->
       new = OWNER;
       noted = (cursor_moved && row == OPEN);
       printf("the new owner takes over\n")
     }
  :: d_step {
       new == OWNER && taken >= UNKNOWN_AFTER ->
       new = DONE;
       taken = 0;
       if
#ifdef UNKNOWN_OVERWRITES
       :: noted ->
#else
       :: noted && row == OPEN ->
#endif
          assert(row == OPEN); /* changed */
          row = UNKNOWN;
          printf("the new owner ends the row as unknown\n")
       :: else
       fi
     }
  :: old == ENDED && new == DONE ->
     assert(!cursor_moved || row != OPEN); /* open */
     break
  od
}
