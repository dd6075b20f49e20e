import Glibc

/// Who runs a command: what the audit remembers.
enum Operator {
    /// The user of the process, and the one behind `sudo` where there is one: `native-sso (sudo alice)`.
    static func name(environment: [String: String]) -> String {
        let user = userName(geteuid())
        guard let person = environment["SUDO_USER"], !person.isEmpty, person != user else { return user }
        // The variable is whatever its setter wrote; the audit is read on terminals.
        return "\(user) (sudo \(TerminalText.escaped(String(person.prefix(64)))))"
    }

    private static func userName(_ id: uid_t) -> String {
        guard let entry = getpwuid(id), let name = entry.pointee.pw_name else { return "uid \(id)" }
        return String(cString: name)
    }
}
