/// What the program tells the shell. The one place that says so.
enum ExitStatus: Int32, Sendable {
    /// Done. Also where the reader of standard output went away early (`… | head -1`): it has what it wanted.
    case done = 0
    /// Refused, or not there: the command was understood, and its answer is no.
    case refused = 1
    /// The operator wrote something wrong: on the command line, in the environment, or in a file that was named there,
    /// the configuration included. Nothing was done.
    case usage = 2
    /// Something the command needs does not work: the database, the key directory, the disk under standard output.
    case infrastructure = 3
}
