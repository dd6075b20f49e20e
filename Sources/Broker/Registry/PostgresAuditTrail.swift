package import NativeSSO
package import PostgresClient
import Synchronization

/// Writes refusals to `audit_event`, in batches in the background.
///
/// A statement that changes state writes its own audit record; this type serves requests that changed nothing. During
/// a database outage the events wait. If the buffer is full, new events are lost and counted. So is an event whose
/// values the database refuses.
package final class PostgresAuditTrail: AuditTrail {
    /// Events that wait for the database, bounded to limit memory during an outage.
    private struct Buffer {
        var events: [AuditEvent] = []
        var lost = 0
    }

    private let database: any StatementExecutor
    private let buffer = Mutex(Buffer())
    private let capacity: Int
    private let retryDelay: Duration
    private let onLoss: @Sendable (Int) -> Void
    /// Yields when an event arrives in the empty buffer, to wake the writer.
    private let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    private static let batchSize = 256

    /// - Parameters:
    ///   - capacity: Maximum number of waiting events.
    ///   - onLoss: Receives the number of lost events: the buffer was full, the database refused them, or the broker
    ///     stopped during an outage.
    package init(
        database: any StatementExecutor, capacity: Int = 10_000, retryDelay: Duration = .seconds(1),
        onLoss: @escaping @Sendable (Int) -> Void
    ) {
        self.database = database
        self.capacity = capacity
        self.retryDelay = retryDelay
        self.onLoss = onLoss
        (arrivals, arrival) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Events that wait for the database.
    package var waiting: Int { buffer.withLock { $0.events.count } }

    package func record(_ event: AuditEvent) {
        let isFirst = buffer.withLock { buffer in
            guard buffer.events.count < capacity else {
                buffer.lost += 1
                return false
            }
            buffer.events.append(event)
            return buffer.events.count == 1
        }
        if isFirst { arrival.yield() }
    }

    /// Writes events until ``finish()``, then tries once to write the rest. Events that still fail are lost and
    /// counted.
    package func run() async {
        for await _ in arrivals {
            while waiting > 0 {
                guard await writeBatch() else {
                    try? await Task.sleep(for: retryDelay)
                    break
                }
            }
        }
        while waiting > 0, await writeBatch() {}
        // The operator who stops the broker during an outage must see the loss.
        let (left, lost) = take(atMost: .max)
        if left.count + lost > 0 { onLoss(left.count + lost) }
    }

    /// Lets ``run()`` return after the last write.
    package func finish() { arrival.finish() }

    private func writeBatch() async -> Bool {
        let (events, lost) = take(atMost: Self.batchSize)
        if lost > 0 { onLoss(lost) }
        var (rest, size) = (events[...], events.count)
        while !rest.isEmpty {
            let batch = Array(rest.prefix(size))
            do throws(PostgresError) {
                _ = try await database.query(AuditStatements.record, AuditStatements.parameters(batch))
            } catch .server(let state, _, _) where state.isDataException || state.isConstraintViolation {
                // The database would refuse it again. The others of the batch must not wait for it: look for it by halves.
                guard batch.count == 1 else {
                    size = batch.count / 2
                    continue
                }
                onLoss(1)
            } catch {
                restore(rest)
                return false
            }
            rest = rest.dropFirst(batch.count)
        }
        return true
    }

    /// Removes and returns the oldest events, at most `limit`, and the number lost since the last call.
    private func take(atMost limit: Int) -> (events: [AuditEvent], lost: Int) {
        buffer.withLock { buffer in
            let batch = Array(buffer.events.prefix(limit))
            buffer.events.removeFirst(batch.count)
            defer { buffer.lost = 0 }
            return (batch, buffer.lost)
        }
    }

    /// Returns unwritten events to the front. Events without room are lost and counted.
    private func restore(_ events: ArraySlice<AuditEvent>) {
        buffer.withLock { buffer in
            let room = max(0, capacity - buffer.events.count)
            buffer.events.insert(contentsOf: events.prefix(room), at: 0)
            buffer.lost += max(0, events.count - room)
        }
        arrival.yield()
    }
}

enum AuditStatements {
    static let record = Statement("SELECT native_sso.record_audit($1, $2, $3, $4, $5, $6, $7, $8, $9)")
    static let preparePartitions = Statement("SELECT native_sso.prepare_audit_partitions()")

    /// One array per column; the function reads them in parallel.
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
            .uuidArray(events.map { $0.trace?.octets ?? nothing }),
        ]
    }

    /// The arrays hold no NULL; the function treats this value as NULL.
    private static let nothing = [UInt8](repeating: 0, count: 16)
}

/// The kinds of audit events that SQL functions and this target record. `native-sso explain` must have a sentence for
/// each, or it does not compile.
package enum AuditKind: String, Sendable, CaseIterable {
    // Requests of apps and IdPs. A kind that ends in `_refused` changed nothing.
    case requestRefused = "request_refused"
    case exchangeRefused = "exchange_refused"
    case enrolmentRefused = "enrolment_refused"
    case handoffRefused = "handoff_refused"
    case refreshRefused = "refresh_refused"
    case logoutRefused = "logout_refused"
    case exchangeGranted = "exchange_granted"
    case sessionEnrolled = "session_enrolled"
    /// The same id_token and device value came again and led to the same session.
    case enrolmentRepeated = "enrolment_repeated"
    /// An app got a code for a web app.
    case handoffMade = "handoff_made"
    /// The web app got tokens for it.
    case handoffRedeemed = "handoff_redeemed"
    case logoutRecorded = "logout_recorded"
    /// An IdP issued tokens for a code, but no app received them.
    case codeOrphaned = "code_orphaned"

    // By a request or by an operator.
    case sessionEnded = "session_ended"
    case grantRevoked = "grant_revoked"
    case sessionRegistered = "session_registered"
    /// A registration mapped an existing session to the IdP's issuer and `sid` for logout.
    case sessionMapped = "session_mapped"

    // By an operator.
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
    /// The changes of a registry file are recorded beside it.
    case registryApplied = "registry_applied"
    case deviceBlocked = "device_blocked"
    case deviceUnblocked = "device_unblocked"
    case deviceUnpinned = "device_unpinned"
    /// Of a user. An identity provider had disabled it.
    case accountEnabled = "account_enabled"
    case idpKeyRevoked = "idp_key_revoked"
    case idpSuspended = "idp_suspended"
    case idpResumed = "idp_resumed"
    case subjectPrefixForgotten = "subject_prefix_forgotten"
    case keyAdded = "key_added"
    case keyPublished = "key_published"
    case keyActive = "key_active"
    case keyRetired = "key_retired"
    case keyRemoved = "key_removed"
    case keySuspended = "key_suspended"
    case keyResumed = "key_resumed"
    /// By the SQL functions of `native_sso_support`.
    case sessionsFound = "sessions_found"
    case requestExplained = "request_explained"
    case retentionSet = "retention_set"
    case databaseAccepted = "database_accepted"
    /// Every session that began until then, known or not.
    case everythingEnded = "everything_ended"
    case swept
}
