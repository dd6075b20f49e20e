/// Counters of lanes, for metrics. Totals only ever grow.
public struct LaneStatistics: Sendable, Equatable {
    public var connections = ConnectionStatistics()
    /// Lanes that wait for a call now.
    public var idleLanes = 0
    /// Calls that wait for a lane now.
    public var queueDepth = 0
    /// Calls that waited in vain or found the queue full.
    public var shedTotal = 0
    /// Transactions that were begun; a call that no other was there to go with counts as one.
    public var batchesTotal = 0
    /// Calls in them.
    public var callsTotal = 0
    /// Of the calls, those that were made by one statement with others.
    public var gatheredCallsTotal = 0
    /// Of the batches, those that were rolled back.
    public var failedBatchesTotal = 0
    /// Of the calls, those that were run again because of it.
    public var repeatedCallsTotal = 0
    /// Of the calls, those that met a lock or a conflict, and were run by themselves on a connection aside.
    public var callsAsideTotal = 0
}
