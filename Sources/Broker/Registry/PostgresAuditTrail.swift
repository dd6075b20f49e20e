public import NativeSSO
public import PostgresClient
import Synchronization

/// Refusals on their way to `audit_event`, written many at a time in the background.
///
/// What changes state is recorded by the statement that changes it; this is for the requests that changed nothing. If the
/// database is away the events wait, up to a bound; beyond it the newest are lost and counted.
public final class PostgresAuditTrail: AuditTrail {
    private let database: any StatementExecutor
    private let buffer: AuditBuffer
    private let retryDelay: Duration
    private let onLoss: @Sendable (Int) -> Void

    private static let batchSize = 256

    /// - Parameters:
    ///   - capacity: Events kept while the database is away.
    ///   - onLoss: Told how many events were lost: for want of room, or because the end came before the database.
    public init(
        database: any StatementExecutor, capacity: Int = 10_000, retryDelay: Duration = .seconds(1),
        onLoss: @escaping @Sendable (Int) -> Void
    ) {
        self.database = database
        self.buffer = AuditBuffer(capacity: capacity)
        self.retryDelay = retryDelay
        self.onLoss = onLoss
    }

    public func record(_ event: AuditEvent) { buffer.append(event) }

    /// Writes until ``finish()`` is called, and then what is left, once. What cannot be written then is lost and counted.
    public func run() async {
        for await _ in buffer.arrivals {
            while !buffer.isEmpty {
                guard await writeBatch() else {
                    try? await Task.sleep(for: retryDelay)
                    break
                }
            }
        }
        while !buffer.isEmpty, await writeBatch() {}
        // Whoever stops the broker while the database is away must know what that cost.
        let (left, lost) = buffer.take(atMost: .max)
        if left.count + lost > 0 { onLoss(left.count + lost) }
    }

    /// Lets ``run()`` return when everything is written.
    public func finish() { buffer.finish() }

    private func writeBatch() async -> Bool {
        let (events, lost) = buffer.take(atMost: Self.batchSize)
        if lost > 0 { onLoss(lost) }
        guard !events.isEmpty else { return true }
        do {
            _ = try await database.query(AuditStatements.record, AuditStatements.parameters(events))
            return true
        } catch {
            buffer.restore(events)
            return false
        }
    }
}

enum AuditStatements {
    static let record = Statement("SELECT native_sso.record_audit($1, $2, $3, $4, $5, $6, $7, $8)")
    static let preparePartitions = Statement("SELECT native_sso.prepare_audit_partitions()")

    /// One array per column; the function takes them in step.
    static func parameters(_ events: [AuditEvent]) -> [PostgresValue] {
        [
            .timestampArray(events.map { $0.occurredAtMilliseconds * 1000 }),
            .textArray(events.map(\.kind.rawValue)),
            .uuidArray(events.map(\.requestID.octets)),
            .textArray(events.map { $0.client?.string ?? "" }),
            .textArray(events.map(\.reason)),
            .uuidArray(events.map { $0.subject.session?.octets ?? nothing }),
            .uuidArray(events.map { $0.subject.grant?.octets ?? nothing }),
            .textArray(events.map { $0.subject.sourceClient?.string ?? "" }),
        ]
    }

    /// In an array there is no NULL: the function takes this for one.
    private static let nothing = [UInt8](repeating: 0, count: 16)
}

/// Events on their way to the database: bounded, so that a database that is away cannot eat the memory.
final class AuditBuffer: Sendable {
    private struct State {
        var events: [AuditEvent] = []
        var lost = 0
    }

    private let state = Mutex(State())
    private let capacity: Int
    /// Yields once for every event that found the buffer empty: the writer's call to work.
    let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    init(capacity: Int) {
        self.capacity = capacity
        (arrivals, arrival) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func append(_ event: AuditEvent) {
        let isFirst = state.withLock { state in
            guard state.events.count < capacity else {
                state.lost += 1
                return false
            }
            state.events.append(event)
            return state.events.count == 1
        }
        if isFirst { arrival.yield() }
    }

    /// The oldest events, at most `limit`, and how many were lost since the last call.
    func take(atMost limit: Int) -> (events: [AuditEvent], lost: Int) {
        state.withLock { state in
            let batch = Array(state.events.prefix(limit))
            state.events.removeFirst(batch.count)
            defer { state.lost = 0 }
            return (batch, state.lost)
        }
    }

    /// Gives events back that could not be written; they come first again, as far as there is room.
    func restore(_ events: [AuditEvent]) {
        state.withLock { state in
            let room = max(0, capacity - state.events.count)
            state.events.insert(contentsOf: events.prefix(room), at: 0)
            state.lost += max(0, events.count - room)
        }
        arrival.yield()
    }

    var isEmpty: Bool { state.withLock { $0.events.isEmpty } }

    /// Ends ``arrivals``.
    func finish() { arrival.finish() }
}

/// What an audit event is about: every kind that the schema's functions and this room record. `native-sso explain` has a sentence
/// for each, and does not compile without.
public enum AuditKind: String, Sendable, CaseIterable {
    // Requests of apps and identity providers. What ends in `_refused` changed nothing.
    case requestRefused = "request_refused"
    case exchangeRefused = "exchange_refused"
    case enrolmentRefused = "enrolment_refused"
    case refreshRefused = "refresh_refused"
    case logoutRefused = "logout_refused"
    case exchangeGranted = "exchange_granted"
    case sessionEnrolled = "session_enrolled"
    /// The same id_token and device value again, which lead to the same session.
    case enrolmentRepeated = "enrolment_repeated"
    case logoutRecorded = "logout_recorded"
    /// An identity provider gave tokens for a code, and no app got them.
    case codeOrphaned = "code_orphaned"

    // Of either: by a request, or by an operator.
    case sessionEnded = "session_ended"
    case grantRevoked = "grant_revoked"
    case sessionRegistered = "session_registered"
    /// A registration told by which name the provider's logout ends a login that was there.
    case sessionMapped = "session_mapped"

    // Acts of operators.
    case clientAdded = "client_added"
    case clientUpdated = "client_updated"
    case clientRemoved = "client_removed"
    case clientSecretAdded = "client_secret_added"
    case clientSecretRetired = "client_secret_retired"
    case clientKeyAdded = "client_key_added"
    case clientKeyRemoved = "client_key_removed"
    case groupAdded = "group_added"
    case groupRemoved = "group_removed"
    case groupMemberSet = "group_member_set"
    case groupMemberRemoved = "group_member_removed"
    case scopeSet = "scope_set"
    case scopeRemoved = "scope_removed"
    case deviceBlocked = "device_blocked"
    case deviceUnblocked = "device_unblocked"
    case deviceUnpinned = "device_unpinned"
    case idpKeyRevoked = "idp_key_revoked"
    case keyAdded = "key_added"
    case keyPublished = "key_published"
    case keyActive = "key_active"
    case keyRetired = "key_retired"
    case keyRemoved = "key_removed"
    case retentionSet = "retention_set"
    case swept
}
