/// The processor time that the processes have used so far, in nanoseconds.
struct Usage {
    /// The broker; 0 if the run has no broker.
    let broker: Int64
    let postgresql: Int64
    /// Of this program.
    let own: Int64
    /// Of the whole machine.
    let machine: Int64
    let instant: Int64

    init(broker pid: Int32?, server: ServerProcesses) throws {
        broker = pid.flatMap { ProcessClock.nanoseconds(of: $0) } ?? 0
        postgresql = try server.nanoseconds()
        machine = try ProcessStatus.machineBusy()
        own = ProcessClock.own
        instant = ProcessClock.monotonic
    }

    /// Processors kept busy by other processes since `earlier`, including interrupts and kernel threads. Other load
    /// falsifies the measurement.
    func elsewhere(since earlier: Usage) -> Double {
        let ours = broker - earlier.broker + postgresql - earlier.postgresql + own - earlier.own
        return max(0, Double(machine - earlier.machine - ours) / Double(max(1, instant - earlier.instant)))
    }
}
