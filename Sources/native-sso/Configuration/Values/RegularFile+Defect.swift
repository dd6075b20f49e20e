import RegularFiles

extension RegularFile {
    /// ``read(_:limit:)``, in the words for whoever named the file.
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
