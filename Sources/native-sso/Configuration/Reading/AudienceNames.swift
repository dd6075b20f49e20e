/// Every name by which an `audience` parameter can select an issuer, and ours. Each stands for one of them only: a request
/// must not be able to reach an issuer's keys under another issuer's policy.
struct AudienceNames {
    private var owners: [String: String] = [:]

    /// Reports the name where it is taken.
    /// - Parameter owner: What it belongs to from now on, for the message to whoever wants it next.
    mutating func claim(_ name: Located<String>, as owner: String, _ root: Section) {
        if let first = owners[name.value] {
            root.report(name.place, "is already \(first); each name stands for one issuer")
        } else {
            owners[name.value] = owner
        }
    }
}
