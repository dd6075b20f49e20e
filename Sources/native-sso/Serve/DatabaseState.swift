/// What the database says of itself beside a commit.
struct DatabaseState: Sendable {
    let isReadOnly: Bool
    /// Whether it confirms commits that a crash, or a failover to its synchronous standby, may lose.
    let commitsMayBeLost: Bool
    /// Whether a commit of this service waits for a standby that does not answer.
    let waitsForStandby: Bool
    /// Its clock: milliseconds since 1970-01-01T00:00:00Z.
    let milliseconds: Int64

    /// How far its clock may be from the broker's. Proofs and assertions are judged by the one, grants by the other.
    static let clockTolerance: Int64 = 30_000

    /// Why no request should come here; `nil`: none.
    /// - Parameter now: The broker's clock, in the same unit.
    func problem(at now: Int64) -> StaticString? {
        if isReadOnly { return "read_only" }
        if commitsMayBeLost { return "synchronous_commit_off" }
        if waitsForStandby { return "standby_missing" }
        let (distance, overflow) = milliseconds.subtractingReportingOverflow(now)
        return overflow || distance.magnitude > Self.clockTolerance.magnitude ? "clocks_apart" : nil
    }
}
