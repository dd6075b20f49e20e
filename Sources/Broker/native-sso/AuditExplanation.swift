import BrokerHTTP
import NativeSSO
import Registry
import StrictCoding

/// An audit event in words, for app developers and operators. It consists of registered names, row ids and fixed texts. It
/// contains no secret, token, device value or user.
struct AuditExplanation: Sendable, Hashable {
    /// One sentence.
    let sentence: String
    /// `nil` if nothing is wrong.
    var remedy: String?
}

extension AuditExplanation {
    init(_ record: AuditRecord) {
        guard let kind = AuditKind(rawValue: record.kind) else {
            self.init(sentence: "A newer version of native-sso recorded \(record.kind), which this one does not know.")
            return
        }
        let words = AuditWords(record)
        let of = words.detail
        // No `default`, so that a new kind without a sentence does not compile.
        switch kind {
        case .requestRefused:
            self = words.refusal(
                "\(words.app) made a request, which was refused before any grant was considered,", .requestRefused)
        case .exchangeRefused:
            self = words.refusal(
                "\(words.app) asked for tokens from \(words.login)\(words.place) and was refused", .exchangeRefused)
        case .enrolmentRefused:
            self = words.refusal("\(words.app) brought a login of its own and was refused", .enrolmentRefused)
        case .handoffRefused:
            self = words.refusal(
                "\(words.app) asked for the hand-off of a login to a web app\(words.place) and was refused",
                .handoffRefused)
        case .handoffMade:
            self.init(
                sentence:
                    "\(words.app) got a code that hands \(words.login) to the web app \(of("web_client"))\(words.place)."
            )
        case .handoffRedeemed:
            self.init(
                sentence:
                    "\(words.app) redeemed the code that app \(of("app")) had got for it in the request \(of("made_by"))\(words.place)."
            )
        case .refreshRefused:
            self = words.refusal(
                "\(words.app) asked to refresh \(words.grant)\(words.place) and was refused", .refreshRefused)
        case .logoutRefused:
            self = words.refusal("A logout token was refused", .logoutRefused)
        case .codeOrphaned:
            self = words.orphan
        case .exchangeGranted:
            self.init(
                sentence: "\(words.app) got tokens of its own from \(words.login)\(words.place), as \(words.grant).")
        case .sessionEnrolled:
            self.init(
                sentence: "\(words.app) enrolled its login\(words.place): its sibling apps may use it from then on.")
        case .enrolmentRepeated:
            self.init(
                sentence:
                    "\(words.app) repeated an enrolment with the same id_token and device value, and got the same login again\(words.place)."
            )
        case .logoutRecorded:
            self.init(
                sentence: "The identity provider \(of("issuer")) reported that "
                    + words.end + ". Live sessions that this ended: \(of("sessions_ended")).")
        case .sessionEnded: self = words.sessionEnd
        case .grantRevoked: self = words.revocation
        case .sessionRegistered:
            self.init(sentence: "\(words.actor) registered a login before any app presented it\(words.place).")

        case .sessionMapped:
            self.init(
                sentence: "\(words.actor) recorded the name by which a logout ends an existing login\(words.place).")

        case .clientAdded: self = words.act("registered the client \(of("client_id"))")
        case .clientUpdated: self = words.act("changed the client \(of("client_id"))")
        case .clientRemoved:
            self = words.act("removed the client \(of("client_id")) with its memberships and grants")
        case .clientSecretAdded: self = words.act("created a secret for the client \(of("client_id"))")
        case .clientSecretRetired: self = words.act("retired a secret of the client \(of("client_id"))")
        case .clientKeyAdded:
            self = words.act("registered the key \(of("kid")) of the client \(of("client_id"))")
        case .clientKeyRemoved:
            self = words.act("removed the key \(of("kid")) of the client \(of("client_id"))")
        case .groupAdded: self = words.act("created the sharing group \(of("group_id"))")
        case .groupRemoved:
            self = words.act("removed the sharing group \(of("group_id")): its members no longer share logins")
        case .groupMemberSet:
            self = words.act(
                "made the client \(of("client_id")) a member of the group \(of("group_id")) with the role \(of("role")), the scope ceiling \(of("scope_ceiling")) and the hand-off \(of("handoff"))"
            )
        case .groupMemberRemoved:
            self = words.act("removed the client \(of("client_id")) from the group \(of("group_id"))")
        case .scopeSet:
            self = words.act("set the scope \(of("scope")), requires consent: \(of("requires_consent"))")
        case .scopeRemoved: self = words.act("removed the scope \(of("scope")) from the registry")
        case .registryApplied:
            self = words.act("applied the registry file \(of("file")) with \(of("changes")) changes")
        case .deviceBlocked:
            self = words.act("blocked a device of \(of("issuer")): every request with it is refused")
        case .deviceUnblocked: self = words.act("unblocked a device of \(of("issuer"))")
        case .deviceUnpinned:
            self = words.act("deleted the key bindings of a device of \(of("issuer")): its apps may use other keys")
        case .accountEnabled:
            self = words.act(
                "enabled an account of \(of("issuer")) that a security event had disabled: its user may log in again")
        case .idpKeyRevoked:
            self = words.act(
                "revoked the key \(of("thumbprint")) of \(of("issuer")): the broker no longer accepts tokens that it signed"
            )
        case .idpSuspended:
            self = words.act("suspended \(of("issuer")): the broker takes no login from it until it is resumed")
        case .idpResumed: self = words.act("resumed \(of("issuer")): the broker takes logins from it again")
        case .subjectPrefixForgotten:
            self = words.act("forgot how users of \(of("issuer")) were named, so that they may get other names")
        case .keyAdded:
            self = words.act("created the key \(of("kid")) for \(of("use")), in the state \(of("state"))")
        case .keyPublished: self = words.act("published the key \(of("kid"))")
        case .keyActive: self = words.act("made \(of("kid")) the active key")
        case .keyRetired: self = words.act("retired the key \(of("kid"))")
        case .keyRemoved: self = words.act("removed the key \(of("kid"))")
        case .keySuspended: self = words.act("suspended the key \(of("kid")), so that it signs nothing")
        case .keyResumed: self = words.act("let the key \(of("kid")) sign again")
        case .sessionsFound:
            self = words.act("looked at \(of("sessions")) sessions of one user or device\(words.place)")
        case .requestExplained: self = words.act("read what the audit has of the request \(of("request_id"))")
        case .retentionSet:
            self = words.act(
                "set how long records are kept: sessions for \(of("session_days")) days, the audit for \(of("audit_days")) days"
            )
        case .databaseAccepted:
            self = words.act(
                "let the brokers go on with a database that had gone back, and chose for the sessions: \(of("sessions"))"
            )
        case .everythingEnded:
            self = words.act(
                "ended every session of every user; the same login may return: \(of("same_login_may_return"))")
        case .swept: self = words.act("deleted records whose retention period had passed")
        }
    }
}

/// The parts of a sentence about one event.
private struct AuditWords {
    private let record: AuditRecord
    private let details: JSONObject?

    init(_ record: AuditRecord) {
        self.record = record
        details = record.details.flatMap { try? JSONReader.parse(Array($0.utf8)).object }
    }

    var app: String { record.client.map { "App \($0)" } ?? "A caller that named no registered app" }

    var login: String { record.sourceClient.map { "the login of app \($0)" } ?? "a login" }

    var grant: String { record.grant.map { "grant \($0)" } ?? "a grant" }

    /// The session and the group, if known.
    var place: String {
        let session = record.session.map { id in
            "session \(id)" + (record.sidDigest == nil ? ", which is gone by now" : "")
        }
        let group = record.group.map { "group \($0)" }
        let parts = [session, group].compactMap(\.self)
        return parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
    }

    var actor: String { record.actor ?? "An operator" }

    func detail(_ name: String) -> String {
        switch details?[name] {
        case .string(let text)?: text
        case .number(let number)?: number.int64.map(String.init) ?? "unknown"
        default: "unknown"
        }
    }

    private func because(_ text: String?) -> String { text.map { ", because: \($0)" } ?? "" }

    /// An act of an operator; ``AuditRecord/reason`` is why.
    func act(_ what: String) -> AuditExplanation {
        AuditExplanation(sentence: "\(actor) \(what)\(because(record.reason)).")
    }

    func refusal(_ beginning: String, _ kind: AuditEvent.Kind) -> AuditExplanation {
        let reason = record.reason ?? "none"
        guard let known = RefusalRow.of(reason, in: kind) else {
            return AuditExplanation(sentence: "\(beginning) for a reason that this version does not know: \(reason).")
        }
        return AuditExplanation(sentence: "\(beginning) because \(known.cause) (\(reason)).", remedy: known.remedy)
    }

    /// No app received tokens of an identity provider.
    var orphan: AuditExplanation {
        let code = record.client.map { "the code of app \($0)" } ?? "a code"
        let beginning = "No app received the tokens that the identity provider gave for \(code)"
        let reason = record.reason ?? "none"
        guard let known = RevocationOutcome(rawValue: reason)?.explanation else {
            return AuditExplanation(sentence: "\(beginning): \(reason), which this version does not know.")
        }
        return AuditExplanation(sentence: "\(beginning): \(known.cause) (\(reason)).", remedy: known.remedy)
    }

    /// What the identity provider reported.
    var end: String {
        let what = record.reason == "subject" ? "a user" : "a session"
        return switch details?.string("cause").flatMap(LogoutCause.init(rawValue:)) {
        case .accountDisabled: "the account of a user is disabled"
        case .accountEnabled: "the account of a user is enabled again"
        case .globalTokenRevocation: "all tokens of a user are revoked (global token revocation)"
        case .sessionRevoked: "\(what) is revoked (security event)"
        case .logoutToken, nil: "\(what) logged out"
        }
    }

    /// A logout at the identity provider or an operator ended the session.
    var sessionEnd: AuditExplanation {
        let session = "session \(record.session?.description ?? "unknown")"
        let cause =
            switch record.reason {
            case "logout": "A logout or revocation at the identity provider"
            case "app": "\(app) signed the device out and"
            default: actor
            }
        let why = record.reason == "logout" ? "" : because(details?.string("why"))
        return AuditExplanation(
            sentence: "\(cause) ended \(session) with everything issued in it\(why).",
            remedy: "Every app in it is refused from its next request on. The user logs in again.")
    }

    /// An operator revoked the grant, or the broker detected reuse of a refresh token.
    var revocation: AuditExplanation {
        let whose = "\(grant) of app \(record.client?.string ?? "unknown")\(place)"
        if record.reason == "app" {
            return AuditExplanation(
                sentence: "The app itself revoked \(whose).",
                remedy: "Its refresh token is refused. While the login lives the app may exchange again.")
        }
        guard let misuse = record.reason.flatMap({ RefusalRow.of($0, in: .refreshRefused) }) else {
            return AuditExplanation(
                sentence: "\(actor) revoked \(whose)\(because(details?.string("why"))).",
                remedy: "Its refresh token is refused. While the login lives the app may exchange again.")
        }
        return AuditExplanation(
            sentence: "The broker revoked \(whose), because \(misuse.cause) (\(record.reason ?? "")).",
            remedy: misuse.remedy)
    }
}

extension RevocationOutcome {
    /// In the form of a row of the table of refusals.
    var explanation: (cause: String, remedy: String) {
        switch self {
        case .revoked:
            ("the identity provider revoked the refresh token that no app got", "Nothing is left to do.")
        case .refused:
            (
                "the identity provider refused to revoke the refresh token that no app got",
                "Look at the identity provider's log at this time. The token ends with its session there."
            )
        case .failed:
            (
                "the refresh token that no app got was not revoked: the identity provider gave no answer, or too many came at once",
                "Check the identity provider. The token ends with its session there."
            )
        case .endpointUnknown:
            (
                "the discovery document names no revocation endpoint on its own host",
                "The operator sets code_relay.revocation_endpoint, if there is one."
            )
        case .switchedOff:
            (
                "code_relay.revoke_orphans is false: the refresh token that no app got was not revoked",
                "Nothing to do. The token ends with its session there."
            )
        case .outcomeUnknown:
            (
                "the database did not confirm whether an app can receive the tokens, so the broker did not revoke the refresh token",
                "Check the database at this time. If no app has the token, it ends with its session there."
            )
        }
    }
}
