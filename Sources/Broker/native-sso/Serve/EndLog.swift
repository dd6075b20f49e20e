import BrokerHTTP
import Dispatch
import Glibc
import NativeSSO
import PostgresClient
import Registry
import StrictCoding
import Synchronization

/// A file outside the database with every end that was acknowledged, one JSON object a line, as `audit list --json` shows
/// events. After a restore, `native-sso restore-check` repeats what the database has lost.
///
/// A line is on the disk before its answer is sent. If the disk takes no line, no end is acknowledged: the lines wait in
/// memory, and the next call writes them first. So an end that is asked for once more is in the file, too. If the broker
/// stops before that, only the audit in the database has the end.
///
/// A disk that hangs is one that takes no line: each call ends within ``patience``.
final class EndLog: Sendable {
    let path: String
    private let patience: Duration
    private let queue: DispatchQueue
    private let state = Mutex(State())

    private struct State {
        /// Not on the disk yet.
        var lines: [UInt8] = []
        /// Writes that were begun or wait for the one before.
        var writes = 0
    }

    /// In octets.
    private static let longestBacklog = 1 << 20
    private static let mostWrites = 1024
    /// Longer than the longest line, in octets.
    private static let longestTail = 1 << 16

    init(
        path: String, patience: Duration = .seconds(5), queue: DispatchQueue = DispatchQueue(label: "journal")
    ) {
        self.path = path
        self.patience = patience
        self.queue = queue
    }

    /// Returns when these events and all earlier ones are on the disk. One write takes all that wait.
    func append(_ events: [Event]) async throws(PortError) {
        let (fits, mayWrite) = state.withLock { state in
            let fits = events.isEmpty || state.lines.count < Self.longestBacklog
            if fits { for event in events { state.lines += event.line } }
            let mayWrite = state.writes < Self.mostWrites
            if mayWrite { state.writes += 1 }
            return (fits, mayWrite)
        }
        let problem = mayWrite ? await write() : "\(Self.mostWrites) writes wait for the disk"
        if let problem { throw .outage(Outage(.journal, problem)) }
        guard fits else {
            throw .outage(Outage(.journal, "too many ends waited for the disk, and this one is not in it"))
        }
    }

    /// - Returns: `nil`: everything is on the disk.
    private func write() async -> String? {
        await withCheckedContinuation { continuation in
            let answer = Answer(continuation)
            queue.async { [self] in
                let problem = writeOut()
                state.withLock { $0.writes -= 1 }
                answer.give(problem)
            }
            let wait = DispatchTimeInterval.milliseconds(Int(patience / .milliseconds(1)))
            DispatchQueue.global().asyncAfter(deadline: .now() + wait) { [patience] in
                answer.give("the disk of the journal took no line within \(patience)")
            }
        }
    }

    /// The first of two answers counts.
    private final class Answer: Sendable {
        private let waiting: Mutex<CheckedContinuation<String?, Never>?>

        init(_ continuation: CheckedContinuation<String?, Never>) { waiting = Mutex(continuation) }

        func give(_ problem: String?) {
            waiting.withLock { $0.take() }?.resume(returning: problem)
        }
    }

    /// Makes the file if it is missing. Throws what an operator must repair.
    func check() throws(CommandFailure) {
        do throws(Failure) { _ = close(try open()) } catch {
            throw .infrastructure(
                "audit.journal: \(error.text); let the user of the broker write to \(path), or name another file")
        }
    }

    /// Why a broker could not append here; `nil`: nothing is known against it. Makes no file.
    var obstacle: String? {
        guard access(path, F_OK) == 0 else {
            return access(directory, W_OK | X_OK) == 0 ? nil : failure("cannot make \(path)").text
        }
        do throws(Failure) { _ = close(try open()) } catch { return error.text }
        return nil
    }

    /// In octets, on the disk of the file; `nil`: unknown.
    var freeSpace: UInt64? {
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { return nil }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize)
    }

    private var directory: String { path.lastIndex(of: "/").map { String(path[...$0]) } ?? "." }

    private struct Failure: Error { let text: String }

    /// - Returns: `nil`: everything is on the disk.
    private func writeOut() -> String? {
        let lines = state.withLock { $0.lines }
        guard !lines.isEmpty else { return nil }
        do throws(Failure) {
            let file = try open()
            defer { close(file) }
            try write(lines, to: file)
        } catch {
            return error.text
        }
        state.withLock { $0.lines.removeFirst(lines.count) }
        return nil
    }

    /// Each time, so that the file can be moved away.
    private func open() throws(Failure) -> CInt {
        let flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK
        var file = Glibc.open(path, flags)
        if file < 0, errno == ENOENT {
            file = Glibc.open(path, flags | O_CREAT, 0o600)
            if file >= 0 { settle(file) }
        }
        guard file >= 0 else { throw failure("cannot open \(path)") }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(file)
            throw Failure(text: "\(path) is not a regular file")
        }
        return file
    }

    /// A command of root makes the file for the broker: it belongs to the owner of its directory, whose entry is made durable.
    private func settle(_ file: CInt) {
        let directory = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        defer { close(directory) }
        var status = stat()
        if geteuid() == 0, fstat(directory, &status) == 0 { _ = fchown(file, status.st_uid, status.st_gid) }
        _ = fsync(directory)
    }

    private func write(_ lines: [UInt8], to file: CInt) throws(Failure) {
        // A full disk may have torn the last line.
        var last: UInt8 = 0
        let end = lseek(file, 0, SEEK_END)
        let isTorn = end > 0 && pread(file, &last, 1, end - 1) == 1 && last != UInt8(ascii: "\n")
        guard file.write(all: (isTorn ? [UInt8(ascii: "\n")] : []) + lines) else {
            throw failure("cannot write to \(path)")
        }
        guard fdatasync(file) == 0 else { throw failure("cannot write \(path) to its disk") }
    }

    private func failure(_ what: String) -> Failure { Failure(text: "\(what): \(String(cString: strerror(errno)))") }

    /// The request and the instant of the last whole line; `nil`: there is none.
    func lastEvent() throws(CommandFailure) -> (request: UniqueID, at: UnixTime)? {
        var tail: [UInt8]
        do throws(Failure) {
            let file = try open()
            defer { close(file) }
            let end = lseek(file, 0, SEEK_END)
            tail = [UInt8](repeating: 0, count: min(Int(end), Self.longestTail))
            let start = end - off_t(tail.count)
            guard pread(file, &tail, tail.count, start) == tail.count else { throw failure("cannot read \(path)") }
        } catch {
            throw .infrastructure("audit.journal: \(error.text)")
        }
        for line in tail.split(separator: UInt8(ascii: "\n")).reversed() {
            guard let event = try? JSONReader.parse(Array(line)).object,
                let request = event.string("request_id").flatMap({ UniqueID($0) }),
                case .instant(let instant)? = event.string("occurred_at").flatMap({ Moment(argument: $0) })
            else { continue }
            return (request, instant)
        }
        return nil
    }
}

extension EndLog {
    /// One event. Its members are those of `audit list --json`.
    struct Event: Sendable {
        let kind: AuditKind
        let requestID: UniqueID
        let occurredAt: UnixTime
        var client: ClientID?
        var session: UniqueID?
        var grant: UniqueID?
        var reason: String?
        /// A JSON object without secrets.
        var details: [UInt8]?

        fileprivate var line: [UInt8] {
            var json = JSONWriter()
            json.object { json in
                Cell.instant(occurredAt).write(as: "occurred_at", to: &json)
                json.member("kind", kind.rawValue)
                json.member("request_id", requestID.description)
                let texts = [
                    ("client_id", client?.string), ("session_id", session?.description),
                    ("grant_id", grant?.description),
                    ("reason", reason),
                ]
                for case (let name, let text?) in texts { json.member(name, text) }
                if let details { json.member("details", raw: details) }
            }
            return json.bytes + [UInt8(ascii: "\n")]
        }
    }
}

extension EndLog.Event {
    /// A logout or a security event of an identity provider, with all that is needed to repeat it.
    fileprivate init(_ logout: LogoutRecord, at now: UnixTime) {
        var json = JSONWriter()
        json.object { json in
            json.member("cause", logout.cause.rawValue)
            json.member("issuer", logout.issuer.string)
            if let sid = logout.sidDigest { json.member("sid_sha256", Hexadecimal.encode(sid)) }
            if let user = logout.user { json.member("sub", user.string) }
            json.member("without_sid", logout.limitsUserToSessionsWithoutSID)
            json.member("issued_at", logout.issuedAt.seconds)
            json.member("token_sha256", Hexadecimal.encode(logout.digest))
        }
        self.init(kind: .logoutRecorded, requestID: logout.requestID, occurredAt: now, details: json.bytes)
    }
}

extension EndLog {
    /// Appends ends that an app or an identity provider asked for.
    /// - Parameter isRepeated: Whether the database had them before. The broker that answered first may have died, or its
    ///   answer may have failed, before it wrote them. The audit then gets the request first: a broker does not start if
    ///   the audit lacks the last request of its journal.
    func append(
        _ events: [Event], isRepeated: Bool, in audit: PostgresAuditTrail, _ clock: any WallClock
    ) async throws(PortError) {
        if isRepeated {
            guard let first = events.first else { return }
            try await audit.write(
                AuditEvent(
                    kind: .endRepeated, requestID: first.requestID, occurredAtMilliseconds: clock.milliseconds,
                    client: first.client, reason: first.kind.rawValue,
                    subject: AuditSubject(session: first.session, grant: first.grant)))
        }
        try await append(events)
    }
}

/// Ends of identity providers, in the journal before they are acknowledged.
struct JournalledLogouts: LogoutRegistry {
    let registry: any LogoutRegistry
    let journal: EndLog
    let audit: PostgresAuditTrail
    let clock: any WallClock

    func end(_ logout: LogoutRecord) async throws(PortError) -> Int64? {
        let ended = try await registry.end(logout)
        let event = EndLog.Event(logout, at: clock.now)
        try await journal.append([event], isRepeated: ended == nil, in: audit, clock)
        return ended
    }
}

/// Ends of apps, in the journal before they are acknowledged.
struct JournalledRevocations: RevocationRegistry {
    let registry: PostgresRevocationRegistry
    let journal: EndLog
    let audit: PostgresAuditTrail
    let clock: any WallClock

    func end(_ grant: UniqueID, of client: ClientID, requestID: UniqueID) async throws(PortError) -> GrantEnd {
        let end = try await registry.end(grant, of: client, requestID: requestID)
        guard end != .foreign else { return end }
        let event = EndLog.Event(
            kind: .grantRevoked, requestID: requestID, occurredAt: clock.now, client: client, grant: grant,
            reason: "app")
        try await journal.append([event], isRepeated: end != .ended, in: audit, clock)
        return end
    }

    func signOut(
        _ devices: [Issuer: DeviceDigest], of client: ClientID, holding grant: UniqueID?, requestID: UniqueID
    ) async throws(PortError) -> [UniqueID] {
        let ended = try await registry.signOut(devices, of: client, holding: grant, requestID: requestID)
        // An earlier request may have ended some of them, and then have failed.
        let all = Set(ended).union(try await registry.signedOut(devices, of: client))
        let now = clock.now
        let events = all.map { session in
            EndLog.Event(
                kind: .sessionEnded, requestID: requestID, occurredAt: now, client: client, session: session,
                reason: "app")
        }
        try await journal.append(events, isRepeated: ended.isEmpty, in: audit, clock)
        return ended
    }

    func isLive(
        _ session: UniqueID, of client: ClientID, issuedAt: UnixTime, idle: Seconds
    ) async throws(PortError) -> Bool {
        try await registry.isLive(session, of: client, issuedAt: issuedAt, idle: idle)
    }
}

/// Revocations of grants whose refresh token shows a copy, in the journal before they are answered.
struct JournalledGrants: GrantRegistry {
    let registry: any GrantRegistry
    let journal: EndLog

    func admit(_ admission: Admission) async throws(PortError) -> AdmissionFacts {
        try await registry.admit(admission)
    }

    func rotate(_ rotation: Rotation) async throws(PortError) -> RotationFacts {
        let facts = try await registry.rotate(rotation)
        guard facts.effect == .revoked else { return facts }
        try await journal.append([
            EndLog.Event(
                kind: .grantRevoked, requestID: rotation.request.requestID, occurredAt: facts.now,
                client: facts.grant?.client, grant: rotation.token.grantID, reason: Self.reason(rotation, facts))
        ])
        return facts
    }

    /// Why the registry revoked the grant. After a reuse only a later login may begin another.
    private static func reason(_ rotation: Rotation, _ facts: RotationFacts) -> String? {
        do throws(RefreshError) { _ = try decide(rotation, facts) } catch {
            if case .refused(let refusal) = error { return refusal.row.reason }
        }
        return nil
    }

    func markUnanswered(_ token: RefreshToken) async throws(PortError) { try await registry.markUnanswered(token) }
}

extension EndLog.Event {
    private static let kinds: [AuditKind] = [
        .sessionEnded, .grantRevoked, .deviceBlocked, .deviceUnblocked, .idpKeyRevoked,
    ]

    /// What an operator's act ended or blocked, as the audit has it; `nil` for anything else.
    init?(_ record: AuditRecord) {
        guard let kind = AuditKind(rawValue: record.kind), Self.kinds.contains(kind), let request = record.requestID
        else { return nil }
        self.init(
            kind: kind, requestID: request,
            occurredAt: UnixTime(seconds: record.occurredAt.microseconds / 1_000_000), client: record.client,
            session: record.session, grant: record.grant, reason: record.reason,
            details: record.details.map { Array($0.utf8) })
    }
}
