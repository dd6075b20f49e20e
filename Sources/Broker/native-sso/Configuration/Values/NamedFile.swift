import Glibc
import OAuthWire
import RegularFiles

/// The defect of one value, and the correction: the end of a sentence that begins with its key.
///
/// Never quotes a value that may contain a secret, such as a URL.
struct ValueDefect: Error, Hashable {
    let message: String

    init(_ message: String) { self.message = message }
}

/// Paths of the configuration. They are absolute, because a service has no fixed working directory.
enum PathText {
    static func absolute(_ text: String) throws(ValueDefect) -> String {
        guard text.hasPrefix("/"), !text.utf8.contains(0) else {
            throw ValueDefect("write an absolute path, beginning with /")
        }
        return text
    }
}

/// The credentials of a systemd service: one file each, in a directory that only the service sees. systemd.exec(5),
/// `LoadCredential=`.
enum ServiceCredential {
    /// Where systemd places the credentials of a service.
    static let variable = "CREDENTIALS_DIRECTORY"
    private static let scheme = "credential:"

    /// The path for a value of the configuration: the value itself, or for `credential:NAME` the file of the credential.
    /// - Parameter directory: The value of ``variable``; `nil` outside a service.
    static func path(_ text: String, directory: String?) throws(ValueDefect) -> String {
        guard text.utf8.starts(with: scheme.utf8) else { return text }
        let octets = text.utf8.dropFirst(scheme.utf8.count)
        guard octets.first.map(isLetterOrDigit) == true,
            octets.allSatisfy({ isLetterOrDigit($0) || "-_.".utf8.contains($0) })
        else {
            throw ValueDefect(
                "write credential: and a name of letters, digits, dots, hyphens and underscores, such as "
                    + "credential:database-password")
        }
        let name = String(decoding: octets, as: UTF8.self)
        guard let directory else {
            throw ValueDefect(
                "only a systemd service has credentials; run systemctl start native-sso, or native-sso-admin for other "
                    + "commands, or write an absolute path")
        }
        let path = "\(directory)/\(name)"
        guard access(path, F_OK) == 0 else {
            throw ValueDefect(
                "the service has no such credential; write the file /etc/credstore/native-sso.\(name), and see that the "
                    + "unit has LoadCredential=\(name):native-sso.\(name)")
        }
        return path
    }

    private static func isLetterOrDigit(_ octet: UInt8) -> Bool {
        (0x30...0x39).contains(octet) || (0x41...0x5A).contains(octet) || (0x61...0x7A).contains(octet)
    }
}

extension RegularFile {
    /// A file that decides which tokens are trusted. Only its owner and group may write it.
    static func trusted(_ path: String, limit: Int = 1 << 20) throws(ValueDefect) -> [UInt8] {
        let file = try contents(path, limit: limit)
        guard !file.isWritableByAnyone else { throw ValueDefect("everyone can write the file; run chmod o-w on it") }
        return file.octets
    }

    /// A file that only its owner can read.
    static func confidential(_ path: String, limit: Int = 1 << 20) throws(ValueDefect) -> [UInt8] {
        let file = try contents(path, limit: limit)
        guard !file.isOpenToOthers else {
            throw ValueDefect("group or others can access the file; run chmod 600 on it")
        }
        return file.octets
    }

    /// ``read(_:limit:)``, with errors in words for the operator.
    static func contents(_ path: String, limit: Int) throws(ValueDefect) -> Contents {
        do throws(Failure) {
            return try read(path, limit: limit)
        } catch {
            switch error {
            case .cannotOpen(let why): throw ValueDefect("cannot open the file: \(why)")
            case .cannotRead(let why): throw ValueDefect("cannot read the file: \(why)")
            case .notRegular: throw ValueDefect("is not a regular file")
            case .tooLong(let limit): throw ValueDefect("the file is longer than \(limit) octets")
            }
        }
    }
}

/// A secret is the contents of a file that only its owner can read. It is never a value of the configuration, because
/// `config check`, backups and `ps` could show it.
enum SecretFile {
    /// One line end at the end of the file is not part of the secret.
    static func read(_ path: String) throws(ValueDefect) -> Credential {
        var octets = try RegularFile.confidential(try PathText.absolute(path), limit: 4096)[...]
        if octets.last == UInt8(ascii: "\n") { octets.removeLast() }
        if octets.last == UInt8(ascii: "\r") { octets.removeLast() }
        guard !octets.isEmpty else { throw ValueDefect("the file is empty") }
        guard !octets.contains(where: { $0 < 0x20 }), let text = String(validating: octets, as: UTF8.self) else {
            throw ValueDefect("the file is not one line of text")
        }
        return Credential(text)
    }
}
