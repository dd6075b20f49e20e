import NativeSSO
import Registry
import StrictCoding

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
            + plan.stale.map { "\($0) is no longer in the file; --prune removes it" }
            + (impact.total.map { [$0] } ?? []) + [end]
    }

    private func lines(_ step: RegistryPlan.Step) -> [String] {
        let sign =
            switch step.action {
            case .add: "+"
            case .update: "~"
            case .move: ">"
            case .remove: "-"
            }
        return ["\(sign) \(step.subject)"] + (step.changes + impact.effects(of: step)).map { "    \($0)" }
    }

    private var adoption: [String] {
        // What is new is the file's own anyway.
        let count = plan.adopted.count - plan.steps.count { $0.action == .add || $0.action == .move }
        guard count > 0 else { return [] }
        let things = count.counted("thing that is", plural: "things that are")
        return ["\(plan.file) takes over \(things) registered: later, --prune may remove what its file has no more"]
    }

    private var end: String {
        if plan.isEmpty { return "nothing to change; serial \(serial)" }
        let count = plan.steps.count.counted("change")
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
        json.member("live_users", impact.users)
    }
}
