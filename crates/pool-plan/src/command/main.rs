fn main(){ let mut a=std::env::args().skip(1); let cap:u64=a.next().unwrap().parse().unwrap(); let tol:f64=a.next().unwrap().parse().unwrap(); let seed=a.next().unwrap().parse().unwrap();
for f in a { let t=std::fs::read_to_string(&f).unwrap(); let p=pool_plan::csv::read(&t,Default::default()).unwrap(); 
let o=pool_plan::Options{capacity:Some(cap).filter(|c|*c>0),tolerance:tol,seed,..Default::default()}; let t=std::time::Instant::now(); let r=p.solve(&o); let e=t.elapsed();
match r { Ok(r)=>println!("{f} {:.6} {} {:?} {:?}", r.certificate.ratio(), r.certificate.is_optimal(), e, p.validate(&r.offsets)), Err(x)=>println!("{f} {x} {e:?}") } } }
