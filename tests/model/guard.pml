/* SPDX-License-Identifier: MIT */
/*
 * One node beside one Java admin: the guard. Time passes in half seconds, at any moment.
 *
 * The Java admin takes the row `schedule_lock` exclusively, reads the jobs without a lock, fires what is due, writes the next times
 * without looking at them again, commits. The node's guard is a session of its own that holds the row shared; the server ends it,
 * and its locks, when it says nothing for 10 s. It is pinged, and the time of the ping is recorded in a row of ours (the proof),
 * which is what a claim looks at: also the claim of a node that has no guard of its own yet. A claim's session is ended by the
 * server after 2 s of silence. Any of the three may stand still for as long as it likes.
 *
 * What must hold: the due time is not both fired by the Java admin and planned by us.
 *
 * Rules, each of which can be taken out by a -D:
 *   NO_CHECK           a claim is committed only if the guard's session lives and its proof is younger than 8 s
 *   CHECK_FIRST        that is looked at right before the commit (and not at the beginning, with statements in between)
 *   CHECK_OUTSIDE      and in the claim's transaction
 *   ONLY_ALIVE         the proof's age counts, so that the guard outlives a claim that is allowed
 *   ONLY_PROOF         the session must live too: a restart of the server ends it long before its time
 *   LONG_PROOF         the proof ends 2 s before the guard may
 *   PATIENT_CLAIMS     a silent claim's session ends after 2 s
 *   PROOF_BY_RECORD    the proof is as old as the ping, not as its recording
 *   NO_COMPARE         a claim advances a job only where its next time is still what was read
 *   END_AT_ONCE        a guard that is ended on purpose withdraws its proof first, behind the claims that looked at it
 */

#define GUARD_TIMEOUT 20 /* half seconds */
#define CLAIM_TIMEOUT 4
#ifdef LONG_PROOF
#define PROOF_VALID GUARD_TIMEOUT
#else
#define PROOF_VALID (GUARD_TIMEOUT - CLAIM_TIMEOUT)
#endif

/* The database. */
bit advanced;             /* the job's next time */
bit job_locked;           /* by a claim */
bit guard, java_has_row;  /* who holds schedule_lock */
byte guard_silent;        /* for how long */
byte claim_silent;
byte proof = PROOF_VALID; /* age of the proof; PROOF_VALID: none that counts */

/* The node: guard thread. */
#define NO_PING 255
byte ping = NO_PING; /* age of the ping that is not recorded yet */
bit ending;

/* The node: schedule thread. */
#define IDLE 0
#define READ 1
#define BEGUN 2
#define WRITTEN 3
#define CHECKED 4
byte claim;
bit seen;   /* the next time as it was read */
bit passed; /* CHECK_OUTSIDE, CHECK_FIRST: the check was made */

/* The Java admin. */
#define WAITING 0
#define LOOKING 1
#define FIRED 2
byte java;

bit planned, fired;

#if defined(NO_CHECK)
#define CHECK true
#elif defined(ONLY_ALIVE)
#define CHECK (guard)
#elif defined(ONLY_PROOF)
#define CHECK (proof < PROOF_VALID)
#else
#define CHECK (guard && proof < PROOF_VALID)
#endif

/* A claim locks the row of the proof when it looks at it, and so holds up its withdrawal. */
#if defined(CHECK_OUTSIDE)
#define HAS_LOOKED false
#else
#define HAS_LOOKED (claim == CHECKED || passed)
#endif

#define OLDER(age, top) ((age) < (top) -> (age) + 1 : (age))

inline end_claim()
{
  claim = IDLE; seen = 0; passed = 0; job_locked = 0; claim_silent = 0
}

inline end_guard()
{
  guard = 0; guard_silent = 0
}

init {
  do
  /* ---- time; the server ends sessions that are silent */
  :: d_step {
       true ->
       guard_silent = (guard -> guard_silent + 1 : 0);
       proof = OLDER(proof, PROOF_VALID);
       ping = (ping != NO_PING -> OLDER(ping, PROOF_VALID) : NO_PING);
       claim_silent = (claim >= BEGUN -> OLDER(claim_silent, CLAIM_TIMEOUT) : 0);
       if
       :: guard_silent == GUARD_TIMEOUT -> end_guard(); printf("the server ends the silent guard\n")
       :: else
       fi;
#ifndef PATIENT_CLAIMS
       if
       :: claim_silent == CLAIM_TIMEOUT -> end_claim(); printf("the server ends the silent claim\n")
       :: else
       fi
#endif
     }
  /* ---- the server restarts: every session ends (while the Java admin has fired and not written, it would fire again by itself) */
  :: d_step {
       java != FIRED ->
       end_guard();
       end_claim();
       java = WAITING; java_has_row = 0;
       printf("the server restarts\n")
     }

  /* ---- guard thread */
  :: d_step { !guard && !java_has_row && !ending -> guard = 1; guard_silent = 0; ping = 0; printf("the guard holds the row\n") }
  :: d_step { guard && !ending -> guard_silent = 0; ping = 0; printf("the guard is pinged\n") }
  :: d_step {
       ping != NO_PING ->
#ifdef PROOF_BY_RECORD
       proof = 0;
#else
       proof = ping;
#endif
       ping = NO_PING;
       printf("the proof is recorded, %d half seconds old\n", proof)
     }
  :: d_step { guard && !ending -> ending = 1; ping = NO_PING; printf("the guard is to end\n") }
  :: d_step { ending && proof != PROOF_VALID && !HAS_LOOKED -> proof = PROOF_VALID; printf("the proof is withdrawn\n") }
#ifdef END_AT_ONCE
  :: d_step { ending -> end_guard(); ending = 0; printf("the guard ends\n") }
#else
  :: d_step { ending && proof == PROOF_VALID && !HAS_LOOKED -> end_guard(); ending = 0; printf("the guard ends\n") }
#endif

  /* ---- schedule thread */
  :: d_step { claim == IDLE && !planned && !advanced -> claim = READ; seen = advanced; printf("we read the job\n") }
#ifdef CHECK_OUTSIDE
  :: d_step { claim == READ && !passed && CHECK -> passed = 1; printf("the check is good\n") }
  :: d_step { claim == READ && passed -> claim = BEGUN; printf("the claim begins\n") }
#else
  :: d_step { claim == READ -> claim = BEGUN; claim_silent = 0; printf("the claim begins\n") }
#endif
#ifdef CHECK_FIRST
  :: d_step { claim == BEGUN && !passed && CHECK -> passed = 1; claim_silent = 0; printf("the check is good\n") }
  :: d_step {
       claim == BEGUN && passed && !job_locked ->
#else
  :: d_step {
       claim == BEGUN && !job_locked ->
#endif
       claim_silent = 0;
       if
#ifdef NO_COMPARE
       :: true -> claim = WRITTEN; job_locked = 1; printf("the job is written\n")
#else
       :: advanced == seen -> claim = WRITTEN; job_locked = 1; printf("the job is written\n")
       :: else -> end_claim(); printf("the job has changed: nothing is claimed\n")
#endif
       fi
     }
#if defined(CHECK_FIRST) || defined(CHECK_OUTSIDE)
  :: d_step { claim == WRITTEN -> claim = CHECKED; claim_silent = 0 }
#else
  :: d_step {
       claim == WRITTEN ->
       claim_silent = 0;
       if
       :: CHECK -> claim = CHECKED; printf("the check is good\n")
       :: else -> end_claim(); printf("the check is not good: nothing is claimed\n")
       fi
     }
#endif
  :: d_step {
       claim == CHECKED ->
       planned = 1;
       advanced = 1;
       printf("the claim is committed\n");
       end_claim();
       assert(!fired) /* both */
     }
  :: d_step { claim != IDLE -> end_claim(); printf("the claim is given up\n") }

  /* ---- the Java admin */
  :: d_step { java == WAITING && !guard && !java_has_row && !fired -> java_has_row = 1; java = LOOKING; printf("the Java admin has the row\n") }
  :: d_step {
       java == LOOKING ->
       if
       :: !advanced -> fired = 1; java = FIRED; printf("the Java admin fires\n"); assert(!planned) /* both */
       :: else -> java = WAITING; java_has_row = 0
       fi
     }
  :: d_step { java == FIRED && !job_locked -> advanced = 1; java = WAITING; java_has_row = 0; printf("the Java admin writes the next time\n") }
  od
}
