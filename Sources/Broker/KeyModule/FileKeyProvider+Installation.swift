import Glibc

extension FileKeyProvider {
    /// Copies the key files of a directory into the key directory, owned by the effective user and with mode 0600.
    ///
    /// A Kubernetes Secret is a directory of root that holds symbolic links: its files are read through the links.
    /// Creates the key directory if it is missing. Never changes an existing file.
    /// - Parameter source: Names that begin with a full stop are left out: Kubernetes keeps its own data there.
    /// - Returns: The names of the files that are new, in alphabetical order.
    /// - Throws: ``KeyFileDefect/differs`` if the key directory has another file of this name. Files before it in the
    ///   alphabet are installed then.
    package func install(from source: String) throws(KeyError) -> [String] {
        if unsafe mkdir(path, S_IRWXU) != 0, errno != EEXIST {
            throw .file(path: path, .lastSystemError("mkdir"))
        }
        let directory = try KeyDirectory(path)
        var installed: [String] = []
        for name in try Self.names(in: source) where try directory.install("\(source)/\(name)", as: name) {
            installed.append(name)
        }
        return installed
    }

    private static func names(in source: String) throws(KeyError) -> [String] {
        guard let listing = unsafe opendir(source) else { throw .file(path: source, .lastSystemError("opendir")) }
        defer { unsafe closedir(listing) }
        var names: [String] = []
        while let entry = unsafe readdir(listing) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) {
                    unsafe String(cString: $0)
                }
            }
            if !name.utf8.starts(with: ".".utf8) { names.append(name) }
        }
        guard !names.isEmpty else { throw .file(path: source, .noKeys) }
        return names.sorted()
    }
}
