/* The ends of a session: by an operator, and by the IdP's logout of a `sid` or of a user. */

inline end_session(row, until) {
    session[row].state = DEAD;
    if :: session[row].bar < until -> session[row].bar = until :: else fi;
    session[row].moved = looking
}

/* The operator or the IdP has the answer: from here on no login up to `until` gets anything. */
inline acknowledge_end(row, until) {
    end_acknowledged[row] = 1;
    if :: acknowledged_bar < until -> acknowledged_bar = until :: else fi
}

/* An operator ends the session that is the newest just now. An end of a dead session raises its bar. */
proctype OperatorEnd(byte me) {
    TRANSACTION;
    atomic {
        sessions > 0;
        at = sessions - 1
    }
    if
    :: atomic { can_own_session(at, me) -> session[at].owner = me }
#if MUTANT == 11
    :: atomic { !can_own_session(at, me) -> goto acknowledges }
#endif
    :: lock_timeout -> goto done
    fi;
    d_step { end_session(at, END_BAR); release(me) }
acknowledges:
    atomic { acknowledge_end(at, END_BAR) }
done:
    skip
}

/*
 * The IdP's logout of this `sid`. First a transaction that waits for first sights under way and leaves a mark if there is
 * no session. Then one that ends the newest session, and again as long as there is a newer one.
 */
proctype Logout(byte me) {
    TRANSACTION;
#if MUTANT != 9
    if
    :: atomic { name_owner == NOBODY && name_share == 0 -> name_owner = me }
    :: lock_timeout -> goto done
    fi;
#endif
    d_step {
        if
        :: sessions == 0 -> end_session(0, LOGOUT_BAR); sessions = 1
        :: sessions > 0 && session[sessions - 1].state == DEAD -> end_session(sessions - 1, LOGOUT_BAR)
        :: else -> name_mark = LOGOUT_BAR
        fi;
        release(me)
    }
    do
    :: atomic { session[sessions - 1].state == DEAD && session[sessions - 1].bar >= LOGOUT_BAR -> at = sessions - 1; break }
    :: else ->
        at = sessions - 1;
        if
        :: atomic { can_own_session(at, me) -> session[at].owner = me }
        :: lock_timeout -> goto done
        fi;
        d_step { end_session(at, LOGOUT_BAR); release(me) }
    od;
    atomic { acknowledge_end(at, LOGOUT_BAR) }
done:
    atomic { release(me) }
}

/* The IdP's logout of this user: a mark that first sights look at, then the end of the live session. */
proctype UserLogout(byte me) {
    TRANSACTION;
#if MUTANT != 9
    if
    :: atomic { subject_owner == NOBODY && subject_share == 0 -> subject_owner = me }
    :: lock_timeout -> goto done
    fi;
#endif
    d_step { subject_mark = LOGOUT_BAR; release(me) }
    do
    :: atomic { sessions == 0 || session[sessions - 1].state == DEAD -> break }
    :: else ->
        at = sessions - 1;
        if
        :: atomic { can_own_session(at, me) -> session[at].owner = me }
        :: lock_timeout -> goto done
        fi;
        d_step { end_session(at, LOGOUT_BAR); release(me) }
    od;
    atomic {
        if :: sessions > 0 -> end_acknowledged[sessions - 1] = 1 :: else fi;
        if :: acknowledged_bar < LOGOUT_BAR -> acknowledged_bar = LOGOUT_BAR :: else fi
    }
done:
    atomic { release(me) }
}
