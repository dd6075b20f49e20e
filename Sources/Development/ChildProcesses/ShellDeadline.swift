/// What the supervising shells have in common.
package enum ShellDeadline {
    /// A function of sh(1) that runs beside a `wait` for the process. SIGTERM ends it when the `wait` returns.
    /// `end_within SECONDS SIGNAL PID …` signals each process that still runs at its deadline.
    ///
    /// SIGTERM may come at any moment and ends all sleeps: a process number may already belong to another process.
    /// SIGKILL ends a sleep, because dash loses a signal that reaches its child before the child becomes sleep(1).
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
