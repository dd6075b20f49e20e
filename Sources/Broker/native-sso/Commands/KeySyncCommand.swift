import ArgumentParser
import KeyModule
import NativeSSO
import Registry
import StrictCoding

struct KeySyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Copy missing key files to or from another directory.",
        discussion: """
            For brokers that share no files: name a directory that you have mounted from the other broker, or that you \
            carry over yourself. It needs mode 0700 and the same owner. Each file is checked against the registry, and \
            appears whole or not at all. A file that is there already is never overwritten: if it holds another key, the \
            command stops. Keys in a token are not copied. Of a key that one replica has for itself (keys.replica), the public \
            half is copied alone.

            Run this command as the broker's user.
            """)

    @Option(help: ArgumentHelp("Copy from keys.directory to this directory.", valueName: "path")) var to: String?
    @Option(help: ArgumentHelp("Copy from this directory to keys.directory.", valueName: "path")) var from: String?
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard (to == nil) != (from == nil) else { throw ValidationError("Name one directory: --to or --from.") }
    }

    func run() async throws {
        let keys = try options.read { $0.keys() }
        let (own, other) = (try keys.files(in: try keys.ownDirectory()), try keys.files(in: to ?? from ?? ""))
        let (source, target) = to == nil ? (other, own) : (own, other)
        try source.check()
        try target.check()
        let records = try await options.administer { try await $0.keys() }.records
            .filter { $0.providerName == "file" || $0.replica != nil }
        var isCopied: [String: Bool] = [:]
        for record in records {
            isCopied[record.kid] =
                record.replica == nil
                ? try source.copy(record, to: target)
                : try await copyPublicKey(record, keys, from: source, to: target)
        }
        try options.output.show(
            Table("keys", records) {
                [
                    "kid": .text($0.kid), "use": .text($0.use.rawValue), "state": .text($0.state.rawValue),
                    "file": .text($0.reference), "copied": .flag(isCopied[$0.kid] == true),
                ]
            })
    }

    /// What the source has not is left out: `key doctor` says what is missing where.
    private func copyPublicKey(
        _ record: KeyRecord, _ keys: Configuration.Keys, from source: FileKeyProvider, to target: FileKeyProvider
    ) async throws(KeyError) -> Bool {
        let isOwn = keys.replica.map { record.replica?.hasSameOctets(as: $0) == true } ?? false
        // The private part is here.
        if isOwn, to == nil { return false }
        do throws(KeyError) {
            let key =
                isOwn ? try await keys.provider().signingKey(record).publicKey : try source.publicKey(record)
            return try target.add(key, of: record)
        } catch .file(_, .missing) {
            return false
        }
    }
}
