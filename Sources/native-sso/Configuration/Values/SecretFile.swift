import RegularFiles

/// A secret is never a value of the configuration, where `config check` output, backups and `ps` would show it; it is the
/// contents of a file that its owner alone can read.
enum SecretFile {
    private static let limit = 4096

    /// One line end at the end of the file is not part of the secret.
    static func read(_ path: String) throws(ValueDefect) -> Secret {
        let file = try RegularFile.contents(try PathText.absolute(path), limit: limit)
        guard !file.isOpenToOthers else {
            throw ValueDefect("group or others can access the file; run chmod 600 on it")
        }
        var octets = file.octets[...]
        if octets.last == UInt8(ascii: "\n") { octets.removeLast() }
        if octets.last == UInt8(ascii: "\r") { octets.removeLast() }
        guard !octets.isEmpty else { throw ValueDefect("the file is empty") }
        guard !octets.contains(where: { $0 < 0x20 }), let text = String(validating: octets, as: UTF8.self) else {
            throw ValueDefect("the file is not one line of text")
        }
        return Secret(text)
    }
}
