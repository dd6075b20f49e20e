/// What the supervising shells have in common.
package enum ShellDeadline {
    /// A function of sh(1), to be run beside a `wait` for the process and ended by SIGTERM when that is over:
    /// `end_within SECONDS SIGNAL PID …` signals each process that still runs when its time has come.
    ///
    /// SIGTERM may come at any moment, and none of the naps goes on after it: what they were to signal may have been waited
    /// for by then, and its number be another's. A nap is ended by SIGKILL, because dash loses what reaches its child before
    /// that has become sleep(1).
    package static let function = """
        end_within() {
            over= nap=
            trap 'over=yes; [ -z "$nap" ] || kill -KILL $nap' TERM
            while [ $# -ge 3 ]; do
                sleep $1 &
                nap=$!
                [ -z "$over" ] || kill -KILL $nap
                wait $nap 2>/dev/null || return
                nap=
                [ -z "$over" ] || return
                kill -$2 $3 2>/dev/null
                shift 3
            done
        }
        """
}
