import ArgumentParser
import BrokerHTTP
import NativeSSO
import Registry
import RegularFiles
import StrictCoding

struct RestoreCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore-check",
        abstract: "Compare a restored database with kept ends and blocks, and repeat what it has lost.",
        discussion: """
            Each FILE is a journal (audit.journal of the configuration) or output of `audit export`; they may overlap. \
            Only what the database lost is repeated, and nothing changes before every file is read. It can be run again. \
            Brokers with a journal that is ahead of the database serve only after a run with --execute.
            """)

    @Argument(help: ArgumentHelp("Files with events.", valueName: "file")) var files: [String]
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        var kept = KeptEvents()
        for file in files { options.output.warn(try kept.read(file)) }
        let events = kept.events
        let check = try await options.administer { try await RestoreCheck(events, in: $0) }
        try await execution.carryOut(check.plan, options) { registry, act in
            try await check.repeatAll(in: registry, act)
        }
    }
}

/// Events that were kept outside the database.
private struct KeptEvents {
    struct Event: Sendable {
        let kind: String
        /// `FILE:LINE`.
        let place: String
        let at: UnixTime
        let requestID: UniqueID?
        let members: JSONObject

        func id(_ name: String) throws(CommandFailure) -> UniqueID {
            guard let id = members.string(name).flatMap({ UniqueID($0) }) else { throw unusable(name) }
            return id
        }

        func detail(_ name: String) throws(CommandFailure) -> String {
            guard let text = members.object("details")?.string(name) else { throw unusable("details.\(name)") }
            return text
        }

        func issuer() throws(CommandFailure) -> Issuer {
            guard let issuer = Issuer(try detail("issuer")) else { throw unusable("details.issuer") }
            return issuer
        }

        func unusable(_ name: String) -> CommandFailure {
            .usage("\(place): the event \(kind) has no usable \(name); nothing was changed")
        }
    }

    private(set) var events: [Event] = []

    /// In octets.
    private static let longestFile = 1 << 30

    /// - Returns: Warnings.
    mutating func read(_ file: String) throws(CommandFailure) -> [String] {
        let octets: [UInt8]
        do throws(ValueDefect) {
            octets = try RegularFile.contents(file, limit: Self.longestFile).octets
        } catch {
            throw .usage("\(file): \(error.message); nothing was changed")
        }
        var warnings: [String] = []
        for (index, line) in octets.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        where !line.isEmpty {
            let place = "\(file):\(index + 1)"
            guard let object = try? JSONReader.parse(Array(line)).object else {
                throw .usage(
                    "\(place): no whole event: the file is cut off, or is something else; nothing was changed. If a full disk "
                        + "tore a line of a journal, delete that line: its end was not acknowledged")
            }
            if let listing = object.array("events") {
                for event in listing { events.append(try Self.event(event.object, place)) }
                if let next = object.string("next") {
                    warnings.append("\(place) is not the last page: its next is \(next)")
                }
            } else {
                events.append(try Self.event(object, place))
            }
        }
        return warnings
    }

    private static func event(_ members: JSONObject?, _ place: String) throws(CommandFailure) -> Event {
        guard let members, let kind = members.string("kind"),
            case .instant(let instant)? = members.string("occurred_at").flatMap({ Moment(argument: $0) })
        else { throw .usage("\(place): no event of the audit; nothing was changed") }
        return Event(
            kind: kind, place: place, at: instant, requestID: members.string("request_id").flatMap { UniqueID($0) },
            members: members)
    }
}

/// What a database lost of the kept events, and what is left to repeat.
private struct RestoreCheck: Sendable {
    private struct Device: Hashable {
        let issuer: Issuer
        let digest: DeviceDigest
    }

    private struct ProviderKey: Hashable {
        let issuer: Issuer
        let thumbprint: String
    }

    private var lost = 0
    private var period: ClosedRange<UnixTime>?
    private var sessions: Set<UniqueID> = []
    private var mayReturn: Set<UniqueID> = []
    private var grants: Set<UniqueID> = []
    /// The grants whose refresh token was reused.
    private var reused: Set<UniqueID> = []
    private var devices: [Device: Bool] = [:]
    private var keys: Set<ProviderKey> = []
    /// A broker will fetch them anew if they are still published.
    private var unknownKeys: Set<ProviderKey> = []
    private var logouts: [KeptEvents.Event] = []
    private var begun: Set<UniqueID> = []
    private var enrolled: Set<UniqueID> = []
    /// Changes of operators that this command does not repeat, by kind.
    private var others: [String: Int] = [:]
    private var done = 0
    private var unknown = 0

    init(_ events: [KeptEvents.Event], in registry: Administration) async throws {
        let known = try await registry.known(Set(events.compactMap(\.requestID)))
        // The oldest first: what happened to a device last counts.
        for event in events.sorted(by: { $0.at < $1.at }) where event.requestID.map({ !known.contains($0) }) ?? true {
            try note(event)
        }
        try await compare(with: registry)
    }

    private mutating func note(_ event: KeptEvents.Event) throws(CommandFailure) {
        lost += 1
        period = (period?.lowerBound ?? event.at)...event.at
        switch AuditKind(rawValue: event.kind) {
        case .sessionEnded:
            let reason = event.members.string("reason")
            guard reason != "expired" else { return }
            let session = try event.id("session_id")
            let isFirst = sessions.insert(session).inserted
            // Of two ends the stricter one counts.
            if reason != "app" { mayReturn.remove(session) } else if isFirst { mayReturn.insert(session) }
        case .grantRevoked:
            let grant = try event.id("grant_id")
            grants.insert(grant)
            let reason = event.members.string("reason")
            if reason?.hasSameOctets(as: RefreshRefusal.replayed.row.reason) == true { reused.insert(grant) }
        case .deviceBlocked, .deviceUnblocked:
            guard let digest = DeviceDigest(octets: Hexadecimal.decode(try event.detail("device")) ?? []) else {
                throw event.unusable("details.device")
            }
            devices[Device(issuer: try event.issuer(), digest: digest)] = event.kind == AuditKind.deviceBlocked.rawValue
        case .idpKeyRevoked:
            keys.insert(ProviderKey(issuer: try event.issuer(), thumbprint: try event.detail("thumbprint")))
        case .logoutRecorded:
            // The audit has no user: its lines of the ended sessions are repeated instead.
            if event.members.object("details")?.contains("token_sha256") == true { logouts.append(event) }
        case .exchangeGranted, .sessionRegistered:
            if let session = event.members.string("session_id").flatMap({ UniqueID($0) }) { begun.insert(session) }
        case .sessionEnrolled:
            if let session = event.members.string("session_id").flatMap({ UniqueID($0) }) { enrolled.insert(session) }
        case .requestRefused, .exchangeRefused, .enrolmentRefused, .handoffRefused, .refreshRefused, .logoutRefused,
            .codeOrphaned, .endRepeated, .enrolmentRepeated, .handoffMade, .handoffRedeemed, .sessionMapped, .swept,
            .sessionsFound, .requestExplained, .restoreChecked:
            break
        default: others[event.kind, default: 0] += 1
        }
    }

    private mutating func compare(with registry: Administration) async throws {
        let (ofSessions, ofGrants) = (
            try await registry.liveness(ofSessions: sessions.union(begun).union(enrolled)),
            try await registry.liveness(ofGrants: grants, reused: reused)
        )
        (begun, enrolled) = (begun.filter { ofSessions[$0] == nil }, enrolled.filter { ofSessions[$0] == nil })
        sessions = settle(sessions) { ofSessions[$0] }
        grants = settle(grants) { ofGrants[$0] }
        var blocked: [Device: Bool] = [:]
        for (device, isBlocked) in devices where isBlocked {
            do throws(AdministrationError) {
                blocked[device] = try await registry.device(device.digest, at: device.issuer).blockedAt != nil
            } catch {
                // A block works before the first login on the device.
                guard case .notFound = error else { throw error }
                blocked[device] = false
            }
        }
        done += blocked.count { $0.value }
        devices = blocked.filter { !$0.value }
        for issuer in Set(keys.map(\.issuer)) {
            let published = try await registry.providerKeys(of: issuer)
            for key in keys where key.issuer == issuer {
                let found = published.filter { $0.thumbprint.hasSameOctets(as: key.thumbprint) }
                if found.isEmpty {
                    unknownKeys.insert(key)
                } else if found.allSatisfy({ $0.revokedAt != nil }) {
                    done += 1
                } else {
                    continue
                }
                keys.remove(key)
            }
        }
        var open: [KeptEvents.Event] = []
        for logout in logouts {
            if try await registry.has(try Self.record(logout, logout.requestID ?? Self.noRequest)) {
                done += 1
            } else {
                open.append(logout)
            }
        }
        logouts = open
    }

    /// What is alive. Counts the rest.
    private mutating func settle(_ ids: Set<UniqueID>, _ isLive: (UniqueID) -> Bool?) -> Set<UniqueID> {
        ids.filter { id in
            switch isLive(id) {
            case true?: return true
            case false?: done += 1
            case nil: unknown += 1
            }
            return false
        }
    }

    private static let noRequest = UniqueID(high: 0, low: 0)

    private static func record(_ event: KeptEvents.Event, _ request: UniqueID) throws(CommandFailure) -> LogoutRecord {
        let details = event.members.object("details")
        guard let cause = details?.string("cause").flatMap({ LogoutCause(rawValue: $0) }) else {
            throw event.unusable("details.cause")
        }
        guard let instant = details?.number("issued_at")?.int64 else { throw event.unusable("details.issued_at") }
        let sid = try digest("sid_sha256", of: event)
        let user = details?.string("sub").flatMap { Subject($0) }
        guard let token = try digest("token_sha256", of: event), sid != nil || user != nil else {
            throw event.unusable("details: sid_sha256 or sub, and token_sha256")
        }
        return LogoutRecord(
            cause: cause, issuer: try event.issuer(), sidDigest: sid, user: user,
            limitsUserToSessionsWithoutSID: details?.bool("without_sid") ?? false,
            issuedAt: UnixTime(seconds: instant), digest: token, requestID: request,
            milliseconds: SystemClock().milliseconds)
    }

    private static func digest(_ name: String, of event: KeptEvents.Event) throws(CommandFailure) -> [UInt8]? {
        guard let text = event.members.object("details")?.string(name) else { return nil }
        guard let octets = Hexadecimal.decode(text), octets.count == 32 else { throw event.unusable("details.\(name)") }
        return octets
    }

    var plan: Plan {
        var lines: [String] = []
        func add(_ count: Int, _ noun: String, plural: String? = nil, _ rest: String) {
            if count > 0 { lines.append("\(count.counted(noun, plural: plural)) \(rest)") }
        }
        if let period {
            lines.append(
                "the database lacks \(lost.counted("event")) of the files, from \(period.lowerBound.rfc3339) to \(period.upperBound.rfc3339)"
            )
        }
        add(sessions.count - mayReturn.intersection(sessions).count, "session", "to end: their users log in again")
        add(
            mayReturn.intersection(sessions).count,
            "session", "to end that an app signed out: a new id_token begins another")
        add(
            logouts.count, "logout or security event", plural: "logouts and security events",
            "of identity providers to repeat")
        add(grants.subtracting(reused).count, "grant", "to revoke: their apps exchange again")
        add(
            grants.intersection(reused).count,
            "grant", "to revoke, whose refresh token was reused: their users log in again")
        lines += devices.keys.map { "block the device \(Hexadecimal.encode($0.digest.octets)) of \($0.issuer)" }
            .sorted()
        lines += keys.map { "revoke the key \($0.thumbprint) of \($0.issuer)" }.sorted()
        lines += unknownKeys.map {
            "the key \($0.thumbprint) of \($0.issuer) is not in this database: if idp-key list shows it later, revoke it again"
        }.sorted()
        if done > 0 { lines.append("\(done.grouped) not live, or done before") }
        if unknown > 0 {
            lines.append("\(unknown.grouped) not in this database: begun in the lost time, or long over")
        }
        add(begun.subtracting(enrolled).count, "session", "began in the lost time: their apps exchange again")
        add(enrolled.count, "enrolled login", "lost: their users log in again")
        lines += others.sorted { $0.key < $1.key }.map { "not repeated, look at them: \($0.value) \($0.key)" }
        let count = sessions.count + grants.count + devices.count + keys.count + logouts.count
        return Plan(
            lost == 0
                ? "record that the database has every event of the files"
                : "repeat \(count.counted("lost end or block", plural: "lost ends and blocks"))",
            consequences: lines)
    }

    /// Stops at the first failure; what is done stays done.
    func repeatAll(in registry: Administration, _ act: AdministrativeAct) async throws {
        for device in devices.keys { try await registry.block(device.digest, at: device.issuer, act) }
        for key in keys { try await registry.revokeProviderKey(key.thumbprint, of: key.issuer, act) }
        for logout in logouts {
            let record = try Self.record(logout, act.requestID)
            do throws(PortError) { try await registry.repeatEnd(record) } catch {
                throw CommandFailure.infrastructure("\(logout.place): \(error); run it again: what is done stays done")
            }
        }
        try await registry.end(sessions, mayReturn: mayReturn, grants: grants, reused: reused, act)
        try await registry.recordRestoreCheck(lost: lost, act)
    }
}
