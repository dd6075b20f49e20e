import NativeSSO
import Registry
import StrictCoding

/// What a plan does to the grants that are live now.
struct RegistryImpact {
    /// By client: its grants that end, those refused because it is disabled, and all it has.
    private(set) var ended: [ClientID: Int64] = [:]
    private(set) var disabled: [ClientID: Int64] = [:]
    private(set) var live: [ClientID: Int64] = [:]
    /// By the client that uses a login and by the one that logged in: grants of logins that they no longer share.
    private(set) var unshared: [ClientID: Int64] = [:]
    private(set) var endedInAll: Int64 = 0
    private(set) var refusedInAll: Int64 = 0

    init(of plan: RegistryPlan, on grants: [LiveGrants]) {
        for grant in grants {
            live[grant.client, default: 0] += grant.count
            let (old, new) = (plan.before.clients[grant.client], plan.after.clients[grant.client])
            if old != nil, new == nil {
                ended[grant.client, default: 0] += grant.count
                endedInAll += grant.count
            } else if old?.isEnabled == true, new?.isEnabled == false {
                disabled[grant.client, default: 0] += grant.count
                refusedInAll += grant.count
            } else if grant.source != grant.client,
                plan.before.mayShare(grant.source, grant.client, at: grant.issuer),
                !plan.after.mayShare(grant.source, grant.client, at: grant.issuer)
            {
                unshared[grant.client, default: 0] += grant.count
                unshared[grant.source, default: 0] += grant.count
                refusedInAll += grant.count
            }
        }
    }

    /// Sentences about one step.
    func effects(of step: RegistryPlan.Step) -> [String] {
        let client = step.client
        func line(_ counts: [ClientID: Int64], _ end: (Int64) -> String) -> [String] {
            guard let count = client.flatMap({ counts[$0] }), count > 0 else { return [] }
            return ["\(Self.grants(count)) \(end(count))"]
        }
        func refused(_ count: Int64) -> String { "\(count == 1 ? "is" : "are") refused from the next refresh on" }
        switch step.change {
        case .removeClient: return line(ended) { $0 == 1 ? "ends" : "end" } + line(unshared, refused)
        case .updateClient:
            let off = line(disabled) { "\($0 == 1 ? "is" : "are") refused until the client is enabled again" }
            return off.isEmpty ? line(live) { "\($0 == 1 ? "follows" : "follow") from the next refresh on" } : off
        case .putMember, .removeMember: return line(unshared, refused)
        case .putScope(let scope) where scope.requiresConsent:
            return ["no exchange grants it any more; grants that have it keep it"]
        case .putScope, .removeScope: return ["an exchange may grant it without consent"]
        case .addClient, .addGroup, .removeGroup: return []
        }
    }

    /// Such as `1,204 live grants`.
    static func grants(_ count: Int64) -> String { "\(grouped(count)) live grant\(count == 1 ? "" : "s")" }

    private static func grouped(_ count: Int64) -> String {
        var (digits, text) = (String(count)[...], "")
        while digits.count > 3 {
            text = ",\(digits.suffix(3))\(text)"
            digits = digits.dropLast(3)
        }
        return digits + text
    }
}

/// A plan, or what was done by it.
struct RegistryPlanReport: ObjectResult {
    let plan: RegistryPlan
    let impact: RegistryImpact
    /// Names the change in the audit; `nil`: nothing was changed.
    var requestID: UniqueID?

    /// Each transaction that changes something counts one.
    private var serial: Int64 { plan.serial + (requestID == nil ? 0 : 1) }

    var lines: [String] {
        plan.steps.flatMap(lines) + adoption
            + plan.stale.map { "\($0) is no longer in the file; --prune removes it" } + total + [end]
    }

    private func lines(_ step: RegistryPlan.Step) -> [String] {
        let sign =
            switch step.action {
            case .add: "+"
            case .update: "~"
            case .move: ">"
            case .remove: "-"
            }
        let settings = step.settings.map { setting in
            let change = [setting.before, setting.after].compactMap(\.self).map(\.shown).joined(separator: " -> ")
            return "    \(setting.name): \(change)"
        }
        return ["\(sign) \(step.subject)"] + settings + impact.effects(of: step).map { "    \($0)" }
    }

    private var adoption: [String] {
        // What is new is the file's own anyway.
        let count = plan.adopted.count - plan.steps.count { $0.action == .add || $0.action == .move }
        guard count > 0 else { return [] }
        let things = count == 1 ? "1 thing that is" : "\(count) things that are"
        return ["\(plan.file) takes over \(things) registered: later, --prune may remove what its file has no more"]
    }

    private var total: [String] {
        guard impact.endedInAll + impact.refusedInAll > 0 else { return [] }
        return [
            "in all: \(RegistryImpact.grants(impact.endedInAll)) to end, "
                + "\(RegistryImpact.grants(impact.refusedInAll)) to be refused"
        ]
    }

    private var end: String {
        if plan.isEmpty { return "nothing to change; serial \(serial)" }
        let count = plan.steps.count == 1 ? "1 change" : "\(plan.steps.count) changes"
        if let requestID { return "done: \(count); serial \(serial). In the audit: native-sso explain \(requestID)" }
        return "\(count) at serial \(serial). Nothing was changed. To do it: native-sso registry apply with --execute, "
            + "--serial \(serial) and --reason"
    }

    func members(to json: inout JSONWriter) {
        json.member("file", plan.file)
        json.member("serial", serial)
        json.member("executed", requestID != nil)
        if let requestID { json.member("request_id", requestID.description) }
        json.array("changes", of: plan.steps) { step, json in
            json.member("action", step.action.rawValue)
            json.member("subject", step.subject)
            json.array("settings", of: step.settings) { setting, json in
                json.member("name", setting.name)
                (setting.before ?? .none).write(as: "before", to: &json)
                (setting.after ?? .none).write(as: "after", to: &json)
            }
            json.member("effects", impact.effects(of: step))
        }
        json.member("adopted", plan.adopted.map(\.description))
        json.member("stale", plan.stale.map(\.description))
        json.member("live_grants_ended", impact.endedInAll)
        json.member("live_grants_refused", impact.refusedInAll)
    }
}
