/// How calls are gathered into batches. Times of calls are those of ``PostgresConfiguration``.
public struct LaneConfiguration: Sendable {
    /// Connections, each on a thread of its own. As many have a batch in flight as it takes: one as long as it keeps up.
    public var lanes = 2
    /// When the batch of one lane has taken so long, another one sends what waits behind it. Before that, only if what waits fills
    /// a batch: the larger batches are the less each call costs.
    public var patience: Duration = .milliseconds(8)
    /// Calls in one transaction, at most.
    public var maxBatch = 128
    /// From so many calls of one statement in a batch on, they are made by one, if the statement has a ``Gathering``. Fewer cost
    /// less each by itself.
    public var gathersFrom = 4
    /// Calls of one statement that may wait. Each statement has its own share, so that a flood of one leaves room for the
    /// others.
    public var queueLimit = 2048
    /// The server's `lock_timeout` for a batch. Short, as one locked row holds up everybody in it: whoever meets the lock
    /// is then run again aside, with the `lockTimeout` of ``PostgresConfiguration``.
    public var batchLockTimeout: Duration = .milliseconds(100)

    public init() {}
}
